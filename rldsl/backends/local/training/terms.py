"""The objective's terms, prepared for one update: constants are hoisted, and what must be whole is known."""

from __future__ import annotations

from dataclasses import dataclass

from rldsl.algebra.expr import GRAINS, RESPONSE, UPDATE, Expr, Order, Reduce, Scan, Shift, Var
from rldsl.algebra.grain import grain, scope, transform, variables
from rldsl.compiler.objective import Named, Objective
from rldsl.runtime.batch import Batch


@dataclass(frozen=True)
class Terms:
    """Token-grain (or coarser) expressions whose totals over the update add up to J; the policy's comes first.

    `constants` are reductions that no quantity of the current policy enters. `whole` says that a term looks beyond
    one response, so that its gradient needs the whole update at once. `once` are the parts that read a second stream of
    data, which belongs to the update and to no response.
    """

    parts: tuple[Named, ...]
    constants: tuple[Named, ...]
    ratio: Expr | None
    whole: bool
    once: tuple[Named, ...] = ()


def prepare(objective: Objective) -> Terms:
    """The terms of an objective. Done once per run."""
    found: dict[Expr, str] = {}

    def hoist(e: Expr) -> Expr:
        if not isinstance(e, (Reduce, Order, Scan, Shift)) or any(v.gradient for v in variables(e)):
            return e
        return Var(found.setdefault(e, f"constant.{len(found)}"), grain(e))

    parts = tuple(Named(t.name, transform(t.expr.arg, hoist)) for t in objective.terms())
    ratio = None if objective.ratio is None else transform(objective.ratio, hoist)
    whole = any(GRAINS.index(scope(p.expr)) > GRAINS.index(RESPONSE) for p in parts)
    once = tuple(p for p in parts if any(v.gradient and v.grain == UPDATE for v in variables(p.expr)))
    return Terms(parts, tuple(Named(name, e) for e, name in found.items()), ratio, whole, once)


def with_constants(terms: Terms, update: Batch) -> Batch:
    """The update with the hoisted reductions as columns. Later ones may be built from earlier ones."""
    for each in terms.constants:
        update = update.with_columns(**{each.name: update.value(each.expr)})
    return update
