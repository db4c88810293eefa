"""RL504: a mixture of experts, two engines, a ratio per token, and nothing that makes both route alike.

The router is a discontinuous choice: a difference in the last bits sends a token through other experts, and its
probability jumps. Per token such jumps are large; over a response most of them average out.
Source: GSPO (arXiv:2507.18071), section 5.3; R3 (arXiv:2510.11370), rollout routing replay.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.base import Distribution, Ratio
from rldsl.axes.traits import RATIO, RESPONSE_TERM, ROUTING_REPLAY
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, model_facts, names, said
from ..offers import fitting
from ..recipe import Recipe
from ..shapes import experts_of

CODE = "RL504"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding; a model that is not known warns about nothing."""
    gives = recipe.ratio.choice.gives
    if recipe.settings.cluster.where == "local" or RATIO not in gives or RESPONSE_TERM in gives or (
            giving(recipe, ROUTING_REPLAY)):
        return
    experts = model_facts(recipe, experts_of)
    if experts:
        yield clash(
            CODE, recipe, f"{recipe.settings.model.policy} routes each token to some of {experts} experts, the two "
            f"engines may choose different ones, and {said(recipe.ratio)} compares single tokens.",
            (recipe.ratio.span, "jumps where the routes differ"), (recipe.where("model.policy"), f"{experts} experts"),
            (recipe.where("cluster.nodes"), "one engine samples, another trains"),
            why="A difference in the last bits changes the route, and with it the token's probability.",
            fix=f"Repeat the routes in training ({names('distribution', Distribution, gives=ROUTING_REPLAY)}), or "
                f"compare whole responses ({fitting(recipe, 'ratio', Ratio, gives=RESPONSE_TERM)}).",
            severity="warning")
