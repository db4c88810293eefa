"""What the sizes of a recipe come to, each with its unit."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from rldsl.algebra.evaluate import evaluate
from rldsl.algebra.expr import Expr
from rldsl.algebra.layout import layout
from rldsl.algebra.variables import LENGTH
from rldsl.axes.base import Shaping
from rldsl.axes.traits import VALUES

from .facts import giving, moves
from .lower import names
from .recipe import Recipe, feedback_nodes

UNKNOWN = "not set"
FAR = 10**9
"""A length beyond every limit, in tokens."""

Fact = tuple[str, str]
"""What it is, and its value with a unit."""


def batch(recipe: Recipe) -> Iterator[Fact]:
    """Responses, updates and whether the data of each update is on-policy."""
    prompts, optim = recipe.settings.data.prompts, recipe.settings.optim
    siblings, updates = recipe.sampling[0].choice.siblings(), optim.updates_per_batch
    yield "prompts per batch", f"{prompts:,} prompts" if prompts else f"{UNKNOWN} (data.prompts)"
    yield "responses per prompt", f"{siblings:,} {'response' if siblings == 1 else 'responses'}"
    if prompts:
        yield "responses per batch", f"{prompts:,} prompts × {siblings:,} = {prompts * siblings:,} responses"
    yield "updates per batch", _updates(updates, optim.epochs)
    if prompts:
        yield "prompts per update", _share(prompts, updates, "prompts")
        yield "responses per update", _share(prompts * siblings, updates, "responses")
    yield "on-policy", _on_policy(recipe)
    if recipe.settings.budget.steps:
        steps = recipe.settings.budget.steps
        trained = moves(recipe) or giving(recipe, VALUES)
        yield "training", f"{steps:,} batches, {steps * updates * optim.epochs if trained else 0:,} updates" + (
            f", {steps * prompts * siblings:,} responses" if prompts else "")


def _updates(updates: int, epochs: int) -> str:
    total = updates * epochs
    plural = "update" if total == 1 else "updates"
    return f"{total:,} {plural}" if epochs == 1 else f"{updates:,} × {epochs:,} epochs = {total:,} updates"


def _share(whole: int, parts: int, unit: str) -> str:
    if whole % parts == 0:
        return f"{whole // parts:,} {unit}"
    return f"{whole:,} / {parts:,} = {float(Fraction(whole, parts)):.4g} {unit}: not a whole number"


def _on_policy(recipe: Recipe) -> str:
    optim, lag = recipe.settings.optim, recipe.schedule.choice.lag()
    updates = optim.updates_per_batch * optim.epochs
    if lag is None:
        return "no: data may be older than the trainer, without a bound"
    if lag:
        return f"no: data may be {lag} {'batch' if lag == 1 else 'batches'} older than the trainer"
    if updates == 1:
        return "yes: one update on data of the current weights"
    later = "update 2 trains" if updates == 2 else f"updates 2 to {updates} train"
    return f"at the batch's start only: {later} on data of weights that have moved since"


def ramps(recipe: Recipe) -> Iterator[Fact]:
    """Where a reward that depends on the response's length alone begins to change and where it ends, in tokens."""
    limit = getattr(recipe.sampling[0].choice, "max_tokens", None)
    for node in feedback_nodes(recipe.feedback):
        e = node.choice.shape() if isinstance(node.choice, Shaping) else None
        if e is not None and names([e]) == {LENGTH.name}:
            yield f"{node.name} by length", _ramp(e, limit)


def _ramp(e: Expr, limit: int | None) -> str:
    start, end = _last(e, _at(e, 1)), _first(e, _at(e, FAR))
    text = (f"{_at(e, 1):g} up to {start:,} tokens, then to {_at(e, FAR):g} at {end:,} tokens" if start < end
            else f"{_at(e, 1):g} at every length")
    if limit is not None and end > limit:
        text += f"; a response has at most {limit:,} tokens, so {_at(e, limit):g} is the furthest it goes"
    return text


def _at(e: Expr, length: int) -> float:
    return evaluate(e, {LENGTH.name: [float(length)]}, layout([1], [0])).data[0]


def _last(e: Expr, value: float) -> int:
    """The greatest length up to which the reward keeps its first value."""
    return _search(lambda n: _at(e, n) != value) - 1


def _first(e: Expr, value: float) -> int:
    """The least length from which the reward has its last value."""
    return _search(lambda n: _at(e, n) == value)


def _search(holds) -> int:
    """The least length in 1..FAR for which a condition holds that, once true, stays true."""
    low, high = 1, FAR
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
