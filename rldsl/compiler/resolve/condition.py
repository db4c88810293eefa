"""Conditions on a typed recipe: `gate.high == 0.2 and advantage == group_mean`, in `exclude when` and in queries."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from rldsl.axes import discover
from rldsl.axes.choice import Choice
from rldsl.axes.discover import AXES
from rldsl.axes.types import Natural
from rldsl.compiler.recipe import Recipe
from rldsl.compiler.settings import bare_field, blocks, hints, keys
from rldsl.grammar.tree import Binary, Call, Constant, Expr, Name, Number, Path, PathPart, Unary

from .fold import COMPARISON, Scope, describe, fold
from .origins import nodes
from .refuse import leaf_name, unknown_choice
from .report import Report, did_you_mean
from .values import INVALID, choice, typed

EITHER = ("and", "or")


@dataclass(frozen=True)
class Held:
    """A value of the recipe with its annotation, which says what it can be compared with."""

    value: Any
    hint: Any


@dataclass(frozen=True)
class Terms:
    """The choices on an axis."""

    axis: str
    choices: tuple[Choice, ...]


@dataclass
class Condition:
    """A condition with the constants of its file. Findings go to `report`: RL201, RL203 where it has no meaning,
    RL207 where the recipe at hand has no such parameter (it is then false)."""

    written: Expr
    scope: Scope
    report: Report

    def holds(self, recipe: Recipe) -> bool:
        """Whether it is true of a recipe."""
        return self._truth(self.written, recipe)

    def _truth(self, e: Expr, recipe: Recipe) -> bool:
        match e:
            case Binary(op, left, right) if op in EITHER:
                sides = [self._truth(left, recipe), self._truth(right, recipe)]
                return all(sides) if op == "and" else any(sides)
            case Unary("not", operand):
                return not self._truth(operand, recipe)
            case Binary(op, left, right) if op in COMPARISON:
                return self._compare(op, left, right, recipe)
            case Constant(bool() as value):
                return value
        self.report.add("RL203", f"a condition is true or false; this is {describe(e)}", e.span, "no condition",
                        fix="compare a parameter or an axis with something: gate.high == 0.2")
        return False

    def _compare(self, op: str, left: Expr, right: Expr, recipe: Recipe) -> bool:
        """A parameter or an axis on one side at least; what it is compared with is read by its type."""
        found = [self._known(e, recipe) for e in (left, right)]
        if found == [None, None]:
            self.report.add("RL203", "one side of a comparison is a parameter or an axis", left.span,
                            f"`{leaf_name(left)}` is neither" if leaf_name(left) else describe(left),
                            fix=did_you_mean(leaf_name(left) or "", AXES) or "write AXIS.PARAMETER == VALUE")
        if found == [None, None] or INVALID in found:
            return False
        if found[0] is None:
            left, right, found = right, left, found[::-1]
            op = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
        if isinstance(found[0], Terms):
            return self._axis(op, found[0], right)
        other = found[1].value if isinstance(found[1], Held) else self._value(right, found[0], left)
        return other is not INVALID and self._ordered(op, found[0].value, other, right)

    def _known(self, e: Expr, recipe: Recipe) -> Held | Terms | None:
        """What a side means in the recipe; None for a constant or a name, INVALID where there is no such parameter."""
        match e:
            case Name("seed"):
                return Held(recipe.seed, Natural)
            case Name(axis) if axis in AXES and axis not in self.scope.lets:
                return Terms(axis, tuple(n.choice for n in nodes(axis, vars(recipe))))
            case Path(parts):
                found = parameter(recipe, parts)
                if found is None:
                    self.report.add("RL207", f"the recipe has no one value `{e.text}`", e.span, "unknown",
                                    fix=did_you_mean(e.text, recipe.origins) or "write AXIS.PARAMETER, as in gate.high")
                    return INVALID
                return found
        return None

    def _axis(self, op: str, terms: Terms, e: Expr) -> bool:
        """A name stands for a choice whatever its parameters, a call for one with exactly these."""
        if op not in ("==", "!="):
            self.report.add("RL203", f"choices are equal or not; `{op}` orders numbers", e.span, "a choice")
            return False
        node = choice(e, terms.axis, Choice, self.report) if isinstance(e, Call) else None
        name = leaf_name(e)
        if name is None or (isinstance(e, Call) and node is None):
            if name is None:
                self.report.add("RL203", f"`{terms.axis}` is compared with a choice, not {describe(e)}", e.span,
                                "no choice")
            return False
        if discover.find(terms.axis, name) is None:
            unknown_choice(name, terms.axis, e.span, self.report)
            return False
        same = any(c == node.choice if node else c.name == name for c in terms.choices)
        return same if op == "==" else not same

    def _value(self, e: Expr, held: Held, left: Expr) -> Any:
        """The other side, in the type of the parameter it is compared with."""
        if isinstance(e, (Name, Binary, Unary)):
            e = fold(e, self.scope)
            if e is None:
                return INVALID
        if isinstance(held.value, Choice) and isinstance(e, Name):
            return held.value if held.value.name == e.id else None
        if isinstance(held.value, float) and isinstance(e, Number):
            return float(e.value)
        return typed(e, held.hint, left.text if isinstance(left, Path) else "seed", self.report)

    def _ordered(self, op: str, a: Any, b: Any, e: Expr) -> bool:
        numbers = all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in (a, b))
        if op not in ("==", "!=") and not numbers:
            if a is not None and b is not None:
                self.report.add("RL203", f"`{op}` orders numbers", e.span, "not a number")
            return False
        return COMPARISON[op](a, b)


def parameter(recipe: Recipe, parts: tuple[PathPart, ...]) -> Held | None:
    """The one value that a dotted path names in a recipe; None where there is none, or several."""
    head, *rest = parts
    if not rest:
        return None
    if head.name in blocks() and (rest[0].name in keys(blocks()[head.name]) or head.name not in AXES):
        return _setting(recipe, head.name, rest)
    return _of_terms([n.choice for n in nodes(head.name, vars(recipe))], rest) if head.name in AXES else None


def _setting(recipe: Recipe, block: str, rest: list[PathPart]) -> Held | None:
    part, cls = getattr(recipe.settings, block), blocks()[block]
    if len(rest) == 1 and rest[0].name in keys(cls):
        return Held(getattr(part, rest[0].name), hints(cls)[rest[0].name])
    bare = bare_field(cls)
    value = getattr(part, bare[0]) if bare else None
    several = list(value) if isinstance(value, tuple) else [value]
    return _of_terms([c for c in several if isinstance(c, Choice)], rest)


def _of_terms(choices: list[Choice], rest: list[PathPart]) -> Held | None:
    if len(rest) == 2:
        choices = [c for c in choices if c.name == rest[0].name]
        choices = choices[rest[0].index - 1:rest[0].index] if rest[0].index else choices
    found = [(c, f.name) for c in choices for f in dataclasses.fields(c) if f.name.removesuffix("_") == rest[-1].name]
    if len(found) != 1 or len(rest) > 2:
        return None
    of, field = found[0]
    return Held(getattr(of, field), hints(type(of))[field])

