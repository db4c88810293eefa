"""The formulas that one choice states, whatever its axis, as it writes them."""

from __future__ import annotations

from rldsl.algebra.expr import RESPONSE, Expr, Var
from rldsl.algebra.variables import ADVANTAGE, LOGP
from rldsl.axes import base
from rldsl.axes.choice import Choice

LIVE = Var("live", RESPONSE, "n_i", "nᵢ")
"""1 for each response that counts in the denominators, else 0."""


INNER = Var("score.inner", RESPONSE, r"s_i", "sᵢ")
"""What the term inside another one gives."""


def formulas(choice: Choice, ratio: Expr | None, live: Expr = LIVE) -> dict[str, Expr]:
    """{what it is: its formula}; `ratio` is the recipe's ratio, for the choices that use it."""
    found = {**_stated(choice, ratio, live), **{f"next {name}": e for name, e in choice.next_state().items()},
             **{f"next {name}, once the batch is trained": e for name, e in choice.state_after().items()}}
    return {what: e for what, e in found.items() if e is not None}


def _stated(choice: Choice, ratio: Expr | None, live: Expr) -> dict[str, Expr | None]:
    if choice.axis == base.Reward.axis:
        return _of_feedback(choice)
    match choice:
        case base.SamplingStage():
            return {"keeps the group": choice.keeps(), "trains the token": choice.trains()}
    return _update(choice, ratio, live)


def _update(choice: Choice, ratio: Expr | None, live: Expr) -> dict[str, Expr | None]:
    match choice:
        case base.Estimator():
            return {"advantage": choice.estimate(), "the critic's target": choice.value_target()}
        case base.Decay():
            return {"decay": choice.value()}
        case base.AdvantageStage():
            return {"advantage": choice.transform(ADVANTAGE)}
        case base.Ratio():
            return {"ratio": choice.ratio()}
        case base.Gate():
            return {"term": choice.term(ratio, ADVANTAGE, LOGP)}
        case base.Regulariser():
            return {"added to the objective": choice.bonus(ratio), "its weight": choice.own_weight()}
        case base.Reduction():
            return {"weight": choice.weight(live)}
        case base.Distribution():
            return {"correction": choice.correction(), "counts": choice.counts(), "stays": choice.stays()}
    return {}


def _of_feedback(choice: Choice) -> dict[str, Expr | None]:
    match choice:
        case base.Veto():
            return {"factor on the sources' scores": choice.factor(INNER)}
        case base.Wrapping():
            return {"reward": choice.around(INNER)}
        case base.Shaping():
            return {"reward per response": choice.shape(), "reward per token": choice.per_token()}
        case base.RewardFilter():
            return {"stays": choice.stays()}
    return {}
