"""From typed choices to one objective: J = Σ_t w_t · d_t · gate(r_t, A_t, ℓ_t) + Σ_t w_t · regularisers.

Everything here is an expression; nothing is computed. The same objective is printed by `explain`, evaluated by
`probe` and trained by every backend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from rldsl.algebra.expr import GROUP, RESPONSE, UPDATE, Const, Expr, absolute, gt, highest, total, where
from rldsl.algebra.grain import substitute, variables
from rldsl.algebra.simplify import simplify
from rldsl.algebra.text import from_data, to_data
from rldsl.algebra.variables import (
    ADVANTAGE,
    CORRECTION,
    LAST,
    LOGP,
    MAX_TOKENS,
    REWARD,
    SCORES,
    WEIGHT,
    score,
)
from rldsl.axes.base import RewardFilter, Scorer, Shaping, Source
from rldsl.axes.traits import CORRECTNESS

from .recipe import Feedback, Node, Product, Recipe, Scaled, Sum, feedback_nodes


@dataclass(frozen=True)
class Score:
    """One feedback source: the variable `score.<label>` is what `scorer` returns."""

    label: str
    scorer: Scorer


@dataclass(frozen=True)
class Named:
    """An expression with the name of the choice it came from."""

    name: str
    expr: Expr


@dataclass(frozen=True)
class Objective:
    """All formulas of a recipe. Grains: see each line; every expression is over `rldsl.algebra.variables`."""

    scores: tuple[Score, ...]
    sources: Expr                     # response: the sources' part of the reward → the variable `scores`
    correct: Expr | None              # response: the verifiable term, before shaping
    reward: Expr                      # response: scores + shaping → the variable `reward`
    token_reward: Expr                # token → the variable `token_reward`
    leaves_first: tuple[Named, ...]   # response 1/0: who stays in the group statistics
    leaves_later: tuple[Named, ...]   # response 1/0: who stays in the loss and its denominators
    keeps: tuple[Named, ...]          # group 1/0: which groups a sampling stage keeps
    advantage: Expr                   # response or token, over the whole batch → the variable `advantage`
    value_target: Expr | None         # token: the critic's target
    correction: Expr                  # token: d, over the whole batch, constant
    live: Expr                        # response 1/0: who counts in the denominators
    weight: Expr                      # token: w, over the whole update, constant
    ratio: Expr | None                # r, for reports
    policy: Expr                      # the gated term, maximised
    regularisers: tuple[Named, ...]   # token: added to the objective with weight w

    def expressions(self) -> tuple[Expr, ...]:
        """Every expression there is."""
        named = (*self.leaves_first, *self.leaves_later, *self.keeps, *self.regularisers)
        single = (self.sources, self.correct, self.reward, self.token_reward, self.advantage, self.value_target,
                  self.correction, self.live, self.weight, self.ratio, self.policy)
        return tuple(e for e in single if e is not None) + tuple(n.expr for n in named)

    def terms(self) -> tuple[Named, ...]:
        """The parts of J, one number per update each: the policy term, then the regularisers."""
        policy = total(WEIGHT * (CORRECTION * self.policy), UPDATE)
        return (Named("policy", policy), *(Named(n.name, total(WEIGHT * n.expr, UPDATE)) for n in self.regularisers))

    def reads(self) -> frozenset[str]:
        """Names of all variables that some formula reads."""
        return frozenset(v.name for e in self.expressions() for v in variables(e))


def build(recipe: Recipe) -> Objective:
    """The objective of a typed recipe."""
    labels = _labels(_choices(recipe.feedback, Source))
    sources, shaping = _feedback(recipe.feedback, labels)
    per_token = [p for n in _choices(recipe.feedback, Shaping) if (p := n.choice.per_token()) is not None]
    filters = _choices(recipe.feedback, RewardFilter)
    lag = [Named(n.name, s) for n in recipe.distribution if (s := n.choice.stays()) is not None]
    ratio = recipe.ratio.choice.ratio()
    live = _live(recipe)
    return Objective(
        scores=tuple(Score(label, node.choice.scorer()) for node, label in labels),
        sources=simplify(sources), correct=_correct(labels), reward=simplify(SCORES + shaping),
        token_reward=simplify(_sum([LAST * REWARD, *per_token])),
        leaves_first=(*lag, *(Named(n.name, n.choice.stays()) for n in filters if n.choice.before_statistics())),
        leaves_later=tuple(Named(n.name, n.choice.stays()) for n in filters if not n.choice.before_statistics()),
        keeps=tuple(Named(n.name, n.choice.keeps()) for n in recipe.sampling[1:]),
        advantage=simplify(_advantage(recipe)), value_target=_target(recipe),
        correction=simplify(_product([n.choice.correction() for n in recipe.distribution])),
        live=live, weight=_weight(recipe, live), ratio=ratio,
        policy=simplify(recipe.gate.choice.term(ratio, ADVANTAGE, LOGP)),
        regularisers=tuple(Named(label, simplify(node.choice.bonus(ratio)))
                           for node, label in _labels(recipe.regularisers)))


def _choices(f: Feedback, kind: type) -> list[Node]:
    return [n for n in feedback_nodes(f) if isinstance(n.choice, kind)]


def _labels(nodes: Sequence[Node]) -> list[tuple[Node, str]]:
    """Each choice with a label that is unique among them: its name, numbered where it stands twice."""
    seen: dict[str, int] = {}
    out = []
    for node in nodes:
        seen[node.name] = seen.get(node.name, 0) + 1
        out.append((node, node.name if seen[node.name] == 1 else f"{node.name}_{seen[node.name]}"))
    return out


def _feedback(f: Feedback, labels: list[tuple[Node, str]]) -> tuple[Expr, Expr]:
    """The reward split into the part that reads scores and the part computed from the batch alone."""
    parts = f.parts if isinstance(f, Sum) else (f,)
    scored = [p for p in parts if _choices(p, Source)]
    return (_sum([_term(p, labels) for p in scored]),
            _sum([_term(p, labels) for p in parts if p not in scored]))


def _term(f: Feedback, labels: list[tuple[Node, str]]) -> Expr:
    match f:
        case Sum(parts):
            return _sum([_term(p, labels) for p in parts])
        case Product(parts):
            return _product([_term(p, labels) for p in parts])
        case Scaled(factor, part, _):
            return factor * _term(part, labels)
        case Node(choice=Source()):
            return score(next(label for node, label in labels if node is f))
        case Node(choice=Shaping() as choice):
            return choice.shape() or Const(0.0)
    return Const(0.0)


def _correct(labels: list[tuple[Node, str]]) -> Expr | None:
    return next((score(label) for node, label in labels if CORRECTNESS in node.choice.gives), None)


def _advantage(recipe: Recipe) -> Expr:
    advantage = recipe.advantage[0].choice.estimate()
    for stage in recipe.advantage[1:]:
        advantage = stage.choice.transform(advantage)
    return advantage


def _target(recipe: Recipe) -> Expr | None:
    target = recipe.advantage[0].choice.value_target()
    return simplify(target) if target is not None else None


def _live(recipe: Recipe) -> Expr:
    if recipe.reduction.choice.uniform_groups == "count":
        return Const(1.0)
    return where(gt(highest(highest(absolute(ADVANTAGE), RESPONSE), GROUP), 0.0), 1.0, 0.0)


def _weight(recipe: Recipe, live: Expr) -> Expr:
    limit = recipe.sampling[0].choice.max_tokens
    return simplify(substitute(recipe.reduction.choice.weight(live), {MAX_TOKENS.name: Const(float(limit))}))


def _sum(parts: list[Expr]) -> Expr:
    out: Expr = Const(0.0)
    for p in parts:
        out = out + p
    return out


def _product(parts: list[Expr]) -> Expr:
    out: Expr = Const(1.0)
    for p in parts:
        out = out * p
    return out


# ── as data, for plan.json ───────────────────────────────────────────────────────────────────────────

def to_json(objective: Objective) -> dict[str, Any]:
    """The objective as JSON data."""
    return {f.name: _encode(getattr(objective, f.name)) for f in fields(objective)}


def from_json(data: dict[str, Any]) -> Objective:
    """The inverse of `to_json`."""
    named = ("leaves_first", "leaves_later", "keeps", "regularisers")
    out: dict[str, Any] = {k: None if v is None else from_data(v) for k, v in data.items()
                           if k not in named and k != "scores"}
    for key in named:
        out[key] = tuple(Named(n, from_data(e)) for n, e in data[key])
    out["scores"] = tuple(Score(label, Scorer(fn, options)) for label, fn, options in data["scores"])
    return Objective(**out)


def _encode(x: Any) -> Any:
    match x:
        case None:
            return None
        case Expr():
            return to_data(x)
        case Named(name, expr):
            return [name, to_data(expr)]
        case Score(label, scorer):
            return [label, scorer.function, scorer.options]
    return [_encode(part) for part in x]
