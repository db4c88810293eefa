"""RL501: a gate that never acts, because its ratio is 1 whenever it is asked.

`old` is the snapshot at the start of the update phase. With one update per batch the policy is still that snapshot
when its gradient is taken, so current / old is 1 for every token. Under lag this hides that older weights sampled.
A gate that does something else to the policy gradient at r = 1 is not idle: it may weigh by length, or choose tokens.
Source: the first update of PPO (arXiv:1707.06347), section 3: r(θ_old) = 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.evaluate import gradient
from rldsl.algebra.expr import Expr
from rldsl.algebra.grain import variables
from rldsl.algebra.layout import layout
from rldsl.algebra.variables import ADVANTAGE, LOGP, LOGP_OLD, LOGP_ROLLOUT
from rldsl.axes.traits import RATIO
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import needing, place, reads, said, stale, updates
from ..recipe import Recipe

CODE = "RL501"
LENGTHS = (1, 3, 2, 4)
SAMPLED = [-1.2, -0.3, -2.0, -0.7, -0.1, -1.5, -2.2, -0.4, -0.9, -1.1]
ADVANTAGES = [1.0, -0.5, -0.5, -0.5, 0.7, 0.7, -1.2, -1.2, -1.2, -1.2]
"""Four responses whose tokens have these log-probs, now and at the update's start, and these advantages."""
SCALES = (0.1, 1.0, 4.0)
"""Log-probs of sure and of unsure policies."""


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding where one update per batch leaves a gate without work."""
    policies = reads(recipe, recipe.ratio)
    if updates(recipe) != 1 or LOGP_OLD.name not in policies or LOGP_ROLLOUT.name in policies:
        return
    for node in needing(recipe, RATIO):
        if node is recipe.gate and _plain(recipe):
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


def _plain(recipe: Recipe) -> bool:
    """Whether the gated term has the gradient of r·A, where the two policies are one."""
    ratio = recipe.ratio.choice.ratio()
    terms = (recipe.gate.choice.term(ratio, ADVANTAGE, LOGP), ratio * ADVANTAGE)
    pairs = [(a, b) for scale in SCALES for a, b in zip(*(_slopes(e, scale) for e in terms), strict=True)]
    return all(abs(a - b) <= 1e-9 for a, b in pairs)


def _slopes(e: Expr, scale: float) -> list[float]:
    units = [[t // 2 for t in range(n)] for n in LENGTHS]
    shape = layout(LENGTHS, [0, 0, 1, 1], pairs=[0, 0, 1, 1], turns=units, steps=units, segments=units, states=units)
    sampled = [scale * x for x in SAMPLED]
    given = {LOGP.name: sampled, LOGP_OLD.name: sampled, ADVANTAGE.name: ADVANTAGES}
    env = {v.name: given.get(v.name, [0.5] * shape.size(v.grain)) for v in variables(e)}
    return gradient(e, env, shape).get(LOGP.name, [0.0] * sum(LENGTHS))
