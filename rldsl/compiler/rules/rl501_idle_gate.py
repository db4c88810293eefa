"""RL501: a gate that never acts, because the ratio it bounds is 1 throughout.

`old` is the snapshot at the start of the update phase. With one update per batch the policy is still that snapshot
when its gradient is taken, so current / old is 1 for every token. Under lag this hides that older weights sampled.
Source: the first update of PPO (arXiv:1707.06347), section 3: r(θ_old) = 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.variables import LOGP_OLD, LOGP_ROLLOUT
from rldsl.axes.traits import RATIO
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import needing, place, reads, said, stale, updates
from ..recipe import Recipe

CODE = "RL501"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding where one update per batch leaves a gate without work."""
    policies = reads(recipe, recipe.ratio)
    if updates(recipe) != 1 or LOGP_OLD.name not in policies or LOGP_ROLLOUT.name in policies:
        return
    for node in needing(recipe, RATIO):
        if node is recipe.gate:
            late = " `old` is taken when the update begins, so it does not see that older weights sampled the data." \
                if stale(recipe) else ""
            yield clash(
                CODE, recipe, f"{said(node)} has no effect: with 1 update per batch, {said(recipe.ratio)} "
                f"over current / old is 1 for every token.{late}",
                (place(node, RATIO), "never acts"), (recipe.ratio.where("pair"), "old is current"),
                (recipe.where("optim.updates_per_batch"), "1 update per batch"),
                why="The policy has not moved from `old` when its only gradient is taken.",
                fix="Write current / rollout in the ratio, or more than one update (updates_per_batch), or "
                    "drop the gate.",
                severity="warning")
