"""The expression of each axis becomes typed choices: pipes, sums, the reward algebra, `SCHEDULE on PLACEMENT`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rldsl.axes import base, discover
from rldsl.axes.choice import Choice
from rldsl.compiler.recipe import Feedback, Product, Scaled, Sum, feedback_nodes, vector
from rldsl.grammar.tree import Binary, Expr, ListExpr, Number

from .report import Report
from .values import choice

REWARD_ROLES = (base.Source, base.Shaping, base.Wrapping, base.RewardFilter, base.FailureRule)
UNWEIGHTED = (base.RewardFilter, base.FailureRule, base.Veto)
"""What has no size of its own."""


def terms(e: Expr, op: str) -> list[Expr]:
    """The operands of a chain `a op b op c`, in written order."""
    found: list[Expr] = []
    while isinstance(e, Binary) and e.op == op:
        found.append(e.right)
        e = e.left
    return [e, *reversed(found)]


def _one(axis: str, role: type[Choice]) -> Callable:
    def read(e: Expr, report: Report) -> dict[str, Any] | None:
        node = choice(e, axis, role, report)
        return node and {axis: node}
    return read


def _pipe(axis: str, first: type[Choice], stage: type[Choice]) -> Callable:
    def read(e: Expr, report: Report) -> dict[str, Any] | None:
        parts = terms(e, "|")
        nodes = [choice(part, axis, stage if i else first, report) for i, part in enumerate(parts)]
        return None if None in nodes else {axis: tuple(nodes)}
    return read


def _sum(axis: str, role: Any) -> Callable:
    def read(e: Expr, report: Report) -> dict[str, Any] | None:
        nodes = [choice(part, axis, role, report) for part in terms(e, "+")]
        return None if None in nodes else {axis: tuple(nodes)}
    return read


def _gate(e: Expr, report: Report) -> dict[str, Any] | None:
    nodes = [choice(part, "gate", (base.Gate, base.Regulariser), report) for part in terms(e, "+")]
    if None in nodes:
        return None
    gates = [n for n in nodes if isinstance(n.choice, base.Gate)]
    if len(gates) == 1:
        return {"gate": gates[0], "regularisers": tuple(n for n in nodes if n is not gates[0])}
    if gates:
        report.add("RL203", "a recipe has one gate; the terms added to it are regularisers", gates[1].span,
                   "a second gate", also=((gates[0].span, "the first gate"),), fix="keep one of them")
    else:
        report.add("RL203", "the gate axis needs a gate; regularisers are added to it", e.span,
                   "only regularisers", fix="add a gate to the sum; `rldsl axes gate` lists them")
    return None


def _system(e: Expr, report: Report) -> dict[str, Any] | None:
    if not (isinstance(e, Binary) and e.op == "on"):
        report.add("RL203", "system is a schedule on a placement", e.span, "half of it",
                   fix="write SCHEDULE on PLACEMENT; `rldsl axes system` lists both")
        return None
    schedule = choice(e.left, "system", base.Schedule, report)
    placement = choice(e.right, "system", base.Placement, report)
    return schedule and placement and {"schedule": schedule, "placement": placement}


# ── feedback ─────────────────────────────────────────────────────────────────────────────────────────

def _feedback(e: Expr, report: Report) -> dict[str, Any] | None:
    tree = _reward(e, report)
    if tree is None:
        return None
    if not any(isinstance(n.choice, (base.Source, base.Dense)) for n in feedback_nodes(tree)):
        report.add("RL203", "feedback needs a source of scores; shaping and filters are added to one", e.span,
                   "no source", fix="add a source, such as those that `rldsl axes feedback` lists first")
        return None
    return {"feedback": tree}


def _reward(e: Expr, report: Report) -> Feedback | None:
    if isinstance(e, Binary) and e.op == "+":
        parts = [_reward(part, report) for part in terms(e, "+")]
        return None if None in parts else _added(Sum(tuple(parts)), terms(e, "+"), report)
    if isinstance(e, ListExpr):
        return _vector(e, report)
    if isinstance(e, Binary) and e.op == "*":
        return _product(e, report)
    if isinstance(e, Binary):
        report.add("RL203", f"reward terms are joined by `+` and `*`, not `{e.op}`", e.span, "no reward algebra",
                   fix="to subtract a term, add it with a negative weight: a + -0.5 * b")
        return None
    return choice(e, "feedback", REWARD_ROLES, report)


def _vector(e: ListExpr, report: Report) -> Feedback | None:
    """`[a, b]` keeps the components apart; each is a reward."""
    parts = [_reward(x, report) for x in e.items]
    if None in parts or not parts:
        if not parts:
            report.add("RL203", "a vector of rewards has components", e.span, "no reward", fix="write [a, b]")
        return None
    sizeless = [n for part in parts for n in feedback_nodes(part) if isinstance(n.choice, UNWEIGHTED)]
    for node in sizeless:
        report.add("RL203", f"`{node.name}` is no reward and no component of a vector", node.span, "no reward",
                   fix=f"add it: [ … ] + {node.name}")
    nested = [x for x, part in zip(e.items, parts, strict=True) if vector(part)]
    for x in nested:
        report.add("RL203", "a component of a vector is one number", x.span, "a vector", fix="write one list")
    return None if sizeless or nested else Sum(tuple(parts), apart=True)


def _added(whole: Sum, written: list[Expr], report: Report) -> Feedback | None:
    """What is added to a vector has no size of its own: a reward would belong to one of the components."""
    if not vector(whole):
        return whole
    rewards = [x for x, part in zip(written, whole.parts, strict=True) if not vector(part)
               and not all(isinstance(n.choice, UNWEIGHTED) for n in feedback_nodes(part))]
    several = [x for x, part in zip(written, whole.parts, strict=True) if vector(part)][1:]
    for x in rewards + several:
        report.add("RL203", "a reward is added to a vector of rewards", x.span, "to which component?",
                   fix="make it a component of its own, or add it inside the brackets to the one it belongs to")
    return None if rewards or several else whole


def _product(e: Expr, report: Report) -> Feedback | None:
    """`w * a` weighs, `a * b` multiplies; a filter removes responses and cannot be weighed."""
    operands = terms(e, "*")
    weights = [x for x in operands if isinstance(x, Number)]
    parts = [_reward(x, report) for x in operands if not isinstance(x, Number)]
    if None in parts:
        return None
    if any(vector(part) for part in parts):
        report.add("RL203", "a vector of rewards is not multiplied as a whole", e.span, "a vector",
                   fix="weigh the components: [0.5 * a, b]")
        return None
    filters = [n for part in parts for n in feedback_nodes(part) if isinstance(n.choice, UNWEIGHTED)]
    for node in filters:
        report.add("RL203", f"`{node.name}` is no reward and has no size that could be multiplied",
                   node.span, "weighted", fix=f"add it: … + {node.name}")
    if filters or not _plain(weights, report):
        return None
    whole = parts[0] if len(parts) == 1 else Product(tuple(parts))
    return Scaled(math.prod(float(w.value) for w in weights), whole, weights[0].span) if weights else whole


def _plain(weights: list[Number], report: Report) -> bool:
    wrong = [w for w in weights if w.kind not in ("plain", "percent")]
    for w in wrong:
        report.add("RL203", "the weight of a reward term is a plain number", w.span, "wrong unit",
                   fix="write it without a unit")
    if not wrong and not math.isfinite(math.prod(float(w.value) for w in weights)):
        report.add("RL204", "the weight of a reward term must be finite", weights[-1].span, "too large",
                   fix="write a smaller one")
        return False
    return not wrong


FIRST: dict[str, Any] = {"feedback": (base.Source, base.Dense), "sampling": base.Sampler, "advantage": base.Estimator,
                         "gate": base.Gate}
"""Who may begin an axis that holds other choices too."""


def first(axis: str) -> str:
    """What an axis may be begun with, in words."""
    def among(role: Any) -> str:
        return ", ".join(n for n in discover.names(axis) if issubclass(discover.find(axis, n), role))

    if axis == "system":
        return f"SCHEDULE on PLACEMENT, with one of {among(base.Schedule)} on one of {among(base.Placement)}"
    return f"… with one of {among(FIRST.get(axis, Choice))}"


READERS: dict[str, Callable[[Expr, Report], dict[str, Any] | None]] = {
    "feedback": _feedback,
    "sampling": _pipe("sampling", base.Sampler, base.SamplingStage),
    "advantage": _pipe("advantage", base.Estimator, base.AdvantageStage),
    "ratio": _one("ratio", base.Ratio),
    "gate": _gate,
    "reduction": _one("reduction", base.Reduction),
    "distribution": _sum("distribution", base.Distribution),
    "system": _system,
}
"""How each axis is read: its expression → the fields of `Recipe` it fills, or None once an error is reported."""
