"""From typed choices to one objective: J = Σ_t w_t · d_t · gate(r_t, A_t, ℓ_t) + Σ_t w_t · regularisers.

Everything here is an expression; nothing is computed. The same objective is printed by `explain`, evaluated by
`probe` and trained by every backend.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rldsl.algebra.expr import GROUP, RESPONSE, UPDATE, Const, Expr, absolute, gt, highest, maximum, total, where
from rldsl.algebra.grain import grains, substitute, variables
from rldsl.algebra.simplify import simplify
from rldsl.algebra.variables import (
    ADVANTAGE,
    CORRECTION,
    COUNTED,
    LAST,
    LENGTH,
    LOGP,
    MAX_TOKENS,
    REWARD,
    SCORES,
    TOKENS,
    WEIGHT,
    score,
    state,
)
from rldsl.axes.base import (
    FailureRule,
    RewardFilter,
    Scorer,
    Shaping,
    Source,
    VectorEstimator,
    Veto,
    Wrapping,
)
from rldsl.axes.judging import Asked, ModelSource
from rldsl.axes.several import SetEstimator, SeveralAnswers
from rldsl.axes.traits import CORRECTNESS

from .recipe import Feedback, Node, Product, Recipe, Scaled, Sum, addends, feedback_nodes


@dataclass(frozen=True)
class Score:
    """One feedback source: the variable `score.<label>` is what `scorer` returns for a response, or for its answer
    number `part` where a response holds several."""

    label: str
    scorer: Scorer | Asked
    part: int | None = None


@dataclass(frozen=True)
class Named:
    """An expression with the name of the choice it came from; `own` says that it holds its own token weights."""

    name: str
    expr: Expr
    own: bool = False


@dataclass(frozen=True)
class Carried:
    """A number that a choice carries from batch to batch: its value before the first, and what becomes of it. What is
    `late` is computed with the policy as it is once the batch is trained."""

    choice: str
    name: str
    initial: float
    next: Expr
    late: bool = False

    @property
    def variable(self) -> str:
        """The name under which formulas read it."""
        return state(self.choice, self.name).name


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
    regularisers: tuple[Named, ...]   # token: added to the objective, with weight w or their own
    counted: Expr | None = None       # token 1/0: who stays in the denominators; None where all do
    state: tuple[Carried, ...] = ()   # update: what is carried to the next batch
    missing: float | None = None      # the score of a response that scoring failed on; None leaves it out

    def expressions(self) -> tuple[Expr, ...]:
        """Every expression there is."""
        named = (*self.leaves_first, *self.leaves_later, *self.keeps, *self.regularisers)
        single = (self.sources, self.correct, self.reward, self.token_reward, self.advantage, self.value_target,
                  self.correction, self.counted, self.live, self.weight, self.ratio, self.policy)
        return (*(e for e in single if e is not None), *(n.expr for n in named), *(c.next for c in self.state))

    def terms(self) -> tuple[Named, ...]:
        """The parts of J, one number per update each: the policy term, then the regularisers."""
        policy = total(WEIGHT * (CORRECTION * self.policy), UPDATE)
        added = (Named(n.name, total(n.expr if n.own else WEIGHT * n.expr, UPDATE)) for n in self.regularisers)
        return (Named("policy", policy), *added)

    def reads(self) -> frozenset[str]:
        """Names of all variables that some formula reads."""
        return frozenset(v.name for e in self.expressions() for v in variables(e))

    def grains(self) -> frozenset[str]:
        """Every grain that some formula is over."""
        return frozenset(g for e in self.expressions() for g in grains(e))


def build(recipe: Recipe) -> Objective:
    """The objective of a typed recipe."""
    labels = _read_as(recipe)
    sources, shaping = _feedback(recipe.feedback, labels)
    vetoes = [n.choice.factor(_term(Node(n.choice.inner(), n.span), labels)) for n in _choices(recipe.feedback, Veto)]
    correct = _correct(recipe.feedback, labels)
    filters = _choices(recipe.feedback, RewardFilter)
    lag = [Named(n.name, s) for n in recipe.distribution if (s := n.choice.stays()) is not None]
    ratio = recipe.ratio.choice.ratio()
    live, counted = _live(recipe), _counted(recipe)
    return Objective(
        scores=tuple(_scores(recipe)),
        sources=simplify(_product([*vetoes, sources])),
        correct=None if correct is None else simplify(_product([*vetoes, correct])),
        reward=simplify(SCORES + shaping), token_reward=simplify(_sum([LAST * REWARD, *_per_token(recipe.feedback)])),
        leaves_first=(*lag, *(Named(n.name, n.choice.stays()) for n in filters if n.choice.before_statistics())),
        leaves_later=tuple(Named(n.name, n.choice.stays()) for n in filters if not n.choice.before_statistics()),
        keeps=tuple(Named(n.name, e) for n in recipe.sampling[1:] if (e := n.choice.keeps()) is not None),
        advantage=simplify(_advantage(recipe, labels)), value_target=_target(recipe),
        correction=simplify(_product([*(n.choice.correction() for n in recipe.distribution), *_trains(recipe)])),
        counted=counted, live=live, weight=_weight(recipe, live, counted), ratio=ratio,
        policy=simplify(recipe.gate.choice.term(ratio, ADVANTAGE, LOGP)),
        regularisers=tuple(_regulariser(node, label, ratio) for node, label in labelled(recipe.regularisers)),
        missing=next((n.choice.missing() for n in _choices(recipe.feedback, FailureRule)), None),
        state=tuple(c for node, label in _stateful(recipe) for c in _carried(node, label)))


def _choices(f: Feedback, kind: type) -> list[Node]:
    return [n for n in feedback_nodes(f) if isinstance(n.choice, kind)]


def labelled(nodes: Sequence[Node]) -> list[tuple[Node, str]]:
    """Each choice with a label that is unique among them: its name, numbered where it stands twice."""
    seen: dict[str, int] = {}
    out = []
    for node in nodes:
        seen[node.name] = seen.get(node.name, 0) + 1
        out.append((node, node.name if seen[node.name] == 1 else f"{node.name}_{seen[node.name]}"))
    return out


Reading = list[tuple[Node, Expr]]
"""Each source with what its score is read as."""


def _answers(recipe: Recipe) -> int:
    """Answers in a response."""
    sampler = recipe.sampling[0].choice
    return sampler.m if isinstance(sampler, SeveralAnswers) else 1


def _scores(recipe: Recipe) -> Iterator[Score]:
    number = _answers(recipe)
    for node, label in labelled(_choices(recipe.feedback, Source)):
        if number == 1:
            yield Score(label, _scorer(node.choice))
        else:
            yield from (Score(f"{label}.{j}", _scorer(node.choice), j) for j in range(number))


def _scorer(source: Source) -> Scorer | Asked:
    return source.asked() if isinstance(source, ModelSource) else source.scorer()


def _read_as(recipe: Recipe) -> Reading:
    """Each source as one number: the response's score, or that of the best of its answers."""
    each = [_answer(recipe, j) for j in range(_answers(recipe))]
    return [(first[0], _highest([e for _, e in (first, *others)])) for first, *others in zip(*each, strict=True)]


def _answer(recipe: Recipe, number: int) -> Reading:
    """Each source as its score of one answer."""
    several = _answers(recipe) > 1
    return [(node, score(f"{label}.{number}" if several else label))
            for node, label in labelled(_choices(recipe.feedback, Source))]


def _highest(scores: Sequence[Expr]) -> Expr:
    out = scores[0]
    for each in scores[1:]:
        out = maximum(out, each)
    return out


def _feedback(f: Feedback, labels: Reading) -> tuple[Expr, Expr]:
    """The reward split into the part that reads scores and the part computed from the batch alone."""
    parts = addends(f)
    scored = [p for p in parts if _choices(p, Source)]
    return (_sum([_term(p, labels) for p in scored]),
            _sum([_term(p, labels) for p in parts if p not in scored]))


def _term(f: Feedback, labels: Reading) -> Expr:
    match f:
        case Sum(parts=parts):
            return _sum([_term(p, labels) for p in parts])
        case Product(parts):
            return _product([_term(p, labels) for p in parts])
        case Scaled(factor, part, _):
            return factor * _term(part, labels)
        case Node(choice=Source()):
            read = next(read for node, read in labels if node.choice is f.choice)
            return f.choice.reward(read) if isinstance(f.choice, ModelSource) else read
        case Node(choice=Wrapping() as choice):
            return choice.around(_term(Node(choice.inner(), f.span), labels))
        case Node(choice=Shaping() as choice):
            return choice.shape() or Const(0.0)
    return Const(0.0)


def _per_token(f: Feedback, factor: float = 1.0) -> list[Expr]:
    """Every reward that is placed on tokens, with its weight."""
    match f:
        case Sum(parts=parts) | Product(parts):
            return [e for part in parts for e in _per_token(part, factor)]
        case Scaled(own, part, _):
            return _per_token(part, factor * own)
        case Node(choice=Wrapping() as choice):
            return [choice.around(e) for e in _per_token(Node(choice.inner(), f.span), factor)]
        case Node(choice=Shaping() as choice):
            return [factor * e for e in [choice.per_token()] if e is not None]
    return []


def _correct(f: Feedback, labels: Reading) -> Expr | None:
    """The first source of correctness; what a veto looks for is none."""
    sought = [n.choice.inner() for n in _choices(f, Veto)]
    return next((read for node, read in labels
                 if CORRECTNESS in node.choice.gives and all(node.choice is not s for s in sought)), None)


def _advantage(recipe: Recipe, labels: Reading) -> Expr:
    match estimator := recipe.advantage[0].choice:
        case SetEstimator():
            each = (_answer(recipe, j) for j in range(_answers(recipe)))
            advantage = estimator.combine_set(tuple(_parts(recipe.feedback, a) for a in each))
        case VectorEstimator():
            advantage = estimator.combine(_parts(recipe.feedback, labels))
        case _:
            advantage = estimator.estimate()
    for stage in recipe.advantage[1:]:
        advantage = stage.choice.transform(advantage)
    return advantage


def reward_parts(recipe: Recipe) -> int:
    """How many terms of the reward are one number per response, each with a weight of its own."""
    return len(_parts(recipe.feedback, _read_as(recipe)))


def _parts(f: Feedback, labels: Reading) -> tuple[tuple[float, Expr], ...]:
    """The terms of the reward with their weights; a term that is no reward per response is none of them."""
    parts = addends(f)
    terms = [(t.factor, t.part) if isinstance(t, Scaled) else (1.0, t) for t in parts]
    scored = [(factor, simplify(_term(part, labels))) for factor, part in terms]
    return tuple((factor, e) for factor, e in scored if e != Const(0.0))


def _target(recipe: Recipe) -> Expr | None:
    target = recipe.advantage[0].choice.value_target()
    return simplify(target) if target is not None else None


def _live(recipe: Recipe) -> Expr:
    if recipe.reduction.choice.uniform_groups == "count":
        return Const(1.0)
    return where(gt(highest(highest(absolute(ADVANTAGE), RESPONSE), GROUP), 0.0), 1.0, 0.0)


def _trains(recipe: Recipe) -> list[Expr]:
    return [e for n in recipe.sampling[1:] if (e := n.choice.trains()) is not None]


def _counted(recipe: Recipe) -> Expr | None:
    masks = [c for n in recipe.distribution if (c := n.choice.counts()) is not None]
    return simplify(_product(masks)) if masks else None


def _weight(recipe: Recipe, live: Expr, counted: Expr | None) -> Expr:
    """Token weights; where masks take tokens out of the denominators, lengths count what is left. What does not count
    weighs nothing, also where nothing does and every denominator is 0."""
    if not isinstance(live, Const):
        return simplify(where(gt(live, 0.0), _counting(recipe, live, counted), 0.0))
    return _counting(recipe, live, counted)


def _counting(recipe: Recipe, live: Expr, counted: Expr | None) -> Expr:
    limit, weight = recipe.sampling[0].choice.max_tokens, recipe.reduction.choice.weight
    if counted is None:
        return simplify(substitute(weight(live), {MAX_TOKENS.name: Const(float(limit))}))
    kept = total(COUNTED, RESPONSE)
    left = substitute(weight(where(gt(kept, 0.0), live, 0.0)), {
        MAX_TOKENS.name: Const(float(limit)), TOKENS.name: COUNTED, LENGTH.name: kept})
    return simplify(where(gt(COUNTED, 0.0), left, 0.0))


def _regulariser(node: Node, label: str, ratio: Expr | None) -> Named:
    bonus, weight = node.choice.bonus(ratio), node.choice.own_weight()
    term = bonus if weight is None else weight * bonus
    return Named(label, simplify(_own_state(node, label, term)), weight is not None)


def _own_state(node: Node, label: str, e: Expr) -> Expr:
    """The formula with the choice's state under its label: two choices of one name have a state each."""
    return substitute(e, {state(node.name, name).name: state(label, name) for name in node.choice.state})


def _stateful(recipe: Recipe) -> list[tuple[Node, str]]:
    """The choices that carry something from batch to batch; only regularisers can stand twice."""
    others = [(n, n.name) for n in recipe.nodes() if n not in recipe.regularisers]
    return [(n, label) for n, label in (*others, *labelled(recipe.regularisers)) if n.choice.state]


def _carried(node: Node, label: str) -> list[Carried]:
    early, late = node.choice.next_state(), node.choice.state_after()
    return [Carried(label, name, initial, simplify(_own_state(node, label, {**early, **late}[name])), name in late)
            for name, initial in node.choice.state.items()]


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
