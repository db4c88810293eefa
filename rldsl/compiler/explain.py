"""What a recipe means and what running it takes, as data that any renderer can show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rldsl.algebra import variables as q
from rldsl.algebra.expr import RESPONSE, TURN, UPDATE, Const, Expr, Var, total
from rldsl.algebra.grain import grain, transform
from rldsl.algebra.simplify import is_zero, simplify

from . import arithmetic, lower, memory
from . import objective as objectives
from .compile import resolved
from .facts import plural
from .graph import Graph
from .lower import names
from .objective import Objective
from .passes import Note, run_passes
from .policies import POLICIES, Quantity, pair, quantities
from .recipe import Recipe
from .role_table import RoleRow, role_table
from .roles import apart, judging

RATIOS = {RESPONSE: Var("ratio", RESPONSE, "s_i", "sᵢ", gradient=True), TURN: Var("ratio", TURN, "s_k", "sₖ",
                                                                                  gradient=True)}
TOKEN_RATIO = Var("ratio", "token", "r_t", "rₜ", gradient=True)
COUNT = Var("N", UPDATE, "N", "N")
TARGET = Var("value_target", "token", r"\hat V_t", "V̂ₜ")
MODEL_ROLES = {"weights": "policy", "reference_weights": "reference", "critic_weights": "critic",
               "teacher_weights": "teacher", "reward_weights": "reward model", "judge_weights": "judge"}

ASKED = ("reward model", "judge")
"""Of these, the models that are asked in texts."""


@dataclass(frozen=True)
class Part:
    """A line of the objective: what it is, its symbol, and the formula that the symbol stands for."""

    what: str
    symbol: Expr
    formula: Expr


@dataclass(frozen=True)
class Explanation:
    """`objective` is J in one formula; `parts` define its symbols, outermost first; `roles` are those of a cluster,
    none for one process; facts are (what, value)."""

    name: str
    file: str
    doc: str
    objective: Expr
    parts: tuple[Part, ...]
    keeps: tuple[Part, ...]
    pairs: tuple[tuple[str, str], ...]
    quantities: tuple[Quantity, ...]
    models: tuple[tuple[str, str], ...]
    before: Graph
    after: Graph
    gone: Mapping[str, str]
    notes: tuple[Note, ...]
    batch: tuple[arithmetic.Fact, ...]
    ramps: tuple[arithmetic.Fact, ...]
    roles: tuple[RoleRow, ...]
    memory: tuple[memory.Fact, ...]


def explain(recipe: Recipe) -> Explanation:
    """Everything about a recipe; nothing is trained and no model is opened."""
    formula = objectives.build(recipe)
    before = lower.build(recipe, formula)
    _, after, notes = run_passes(formula, before)
    parts = _parts(formula)
    return Explanation(
        recipe.name, recipe.file, recipe.doc, _whole(formula), tuple(parts), tuple(_keeps(formula)),
        tuple(_pairs(formula)), tuple(quantities(recipe, formula, before, after)), tuple(_models(recipe, after)),
        before, after, {id: n.source for n in notes for id in n.removed}, notes, tuple(arithmetic.batch(recipe)),
        tuple(arithmetic.ramps(recipe)), role_table(recipe),
        tuple(memory.estimate(recipe, after, resolved(recipe.settings)["dtype"])))


def _whole(o: Objective) -> Expr:
    """J = Σ_t w·(d·gate + regularisers) + Σ_t of those with their own weights, with the ratio as one symbol.

    What is exactly zero is left out.
    """
    ratio = _ratio(o)
    inner = ratio.get(o.policy) if o.policy in ratio else _shorten(o.policy, ratio)
    term = simplify((q.CORRECTION if o.correction != Const(1.0) else Const(1.0)) * inner)
    added = [r for r in o.regularisers if not is_zero(r.expr)]
    for each in (r for r in added if not r.own):
        term = term + _shorten(each.expr, ratio)
    whole = total(q.WEIGHT * term, UPDATE)
    for each in (r for r in added if r.own):
        whole = whole + total(_shorten(each.expr, ratio), UPDATE)
    return whole


def _parts(o: Objective) -> Iterator[Part]:
    """The symbols that J reads, directly or through one another."""
    ratio = _ratio(o)
    counts = {total(q.RESPONSES, UPDATE): COUNT}
    symbol = next(iter(ratio.values()), TOKEN_RATIO)
    defined = [("weight of a token", q.WEIGHT, o.weight), ("counts in the denominators", q.COUNTED, o.counted),
               ("correction", q.CORRECTION, o.correction),
               ("ratio", symbol, o.ratio), ("advantage", q.ADVANTAGE, o.advantage),
               ("critic's target", TARGET, o.value_target), ("token reward", q.TOKEN_REWARD, o.token_reward),
               ("reward", q.REWARD, o.reward), ("scores", q.SCORES, o.sources), ("correctness", q.CORRECT, o.correct)]
    seen = names([_whole(o), *(n.expr for n in (*o.keeps, *o.leaves_first, *o.leaves_later))])
    for what, var, formula in defined:
        if formula is not None and (var.name in seen or var is TARGET):
            yield Part(what, var, _shorten(simplify(formula), counts))
            seen |= names([formula])
    for each in o.state:
        yield Part(f"{each.choice}: {each.name} for the next batch", q.state(each.choice, each.name),
                   _shorten(each.next, counts))


def _keeps(o: Objective) -> Iterator[Part]:
    """Who is kept in the batch: one condition each."""
    for when, found in (("keeps the group", o.keeps), ("stays in the batch", o.leaves_first),
                        ("stays in the loss", o.leaves_later)):
        for each in found:
            yield Part(f"{each.name}: {when}", Const(1.0), each.expr)


def _ratio(o: Objective) -> dict[Expr, Expr]:
    if o.ratio is None:
        return {}
    symbol = RATIOS.get(grain(o.ratio), TOKEN_RATIO)
    return {o.ratio: symbol, simplify(o.ratio): symbol}


def _shorten(e: Expr, symbols: Mapping[Expr, Expr]) -> Expr:
    return transform(e, lambda n: symbols.get(n, n))


def _pairs(o: Objective) -> Iterator[tuple[str, str]]:
    """Which two policies form the ratio, and which the correction."""
    for what, e in (("ratio", o.ratio), ("correction", o.correction)):
        found = pair(e)
        if found:
            yield what, found
    for each in o.regularisers:
        others = [word for name, (word, _) in POLICIES.items() if name in names([each.expr]) and word != "current"]
        if others and not is_zero(each.expr):
            yield each.name, f"current / {others[0]}"


def _models(recipe: Recipe, graph: Graph) -> Iterator[tuple[str, str]]:
    """(role, what it is and who reads it) for every model that is loaded."""
    model, critic = recipe.settings.model, recipe.settings.critic
    spec = (model.policy or "model.policy is not set") + _as_left(model.start)
    for field, role in MODEL_ROLES.items():
        readers = [n.id for n in graph.readers(field) if n.kind not in ("publish", "checkpoint")]
        if readers:
            source = {"policy": spec,
                      "critic": f"a copy of the policy with a new value head{_as_left(critic.start)}",
                      "reference": f"frozen, {recipe.settings.model.reference}",
                      "teacher": f"frozen, {', '.join(recipe.settings.model.teachers) or 'model.teachers is not set'}",
                      "reward model": f"frozen, {recipe.settings.model.reward or 'model.reward is not set'}",
                      "judge": f"frozen, {recipe.settings.model.judge or 'model.judge is not set'}"}[role]
            yield role, f"{source}; read by {', '.join(readers)}{_processes(recipe, role)}"


def _processes(recipe: Recipe, role: str) -> str:
    """What a role has to itself, where it does not share the trainer's ranks."""
    if role in ASKED and (count := judging(recipe)):
        return f"; in {'a process of its own' if count == 1 else f'each of {count} processes'}"
    own = next((a for a in apart(recipe) if a.role == role), None)
    if own is None:
        return ""
    each = f" for each of {own.models} models" if own.models > 1 else ""
    return f"; in {plural(own.ranks, 'rank')} of its own{each}"


def _as_left(start: str | None) -> str:
    return "" if start is None else f", as {start.replace(':', ' ')} left it"
