"""Constants: `let` names, arithmetic and comparison become single values before any typing.

What is not a constant (choices, words, `current / old`) is left as written; the typing step judges it.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from dataclasses import dataclass, field

from rldsl.diagnostics import Span
from rldsl.grammar.tree import Binary, Call, Constant, Expr, Let, ListExpr, Name, Number, Path, Range, String, Unary

from .report import Report

CONSTANTS = (Number, String, Constant)
ARITHMETIC: dict[str, Callable] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
COMPARISON: dict[str, Callable] = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
                                   ">": operator.gt, ">=": operator.ge}
KINDS = {"plain": "a plain number", "bytes": "a size in bytes", "time": "a duration", "percent": "a percentage"}
LARGEST = 1e300
DEEPEST = 100


@dataclass
class Scope:
    """The `let`s of one file. `uses` maps each place a name was used to the place it was defined."""

    lets: dict[str, Let]
    report: Report
    uses: dict[Span, Span] = field(default_factory=dict)
    done: dict[str, Expr | None] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)

    def value(self, name: str) -> Expr | None:
        """The constant a `let` stands for; None where it has none (reported once, at the `let`)."""
        if name not in self.done:
            let = self.lets[name]
            if name in self.open or len(self.open) > DEEPEST:
                _circle(self, name) if name in self.open else _too_deep(self, let)
                self.done[name] = None
                return None
            self.open.append(name)
            value = fold(let.value, self)
            self.open.pop()
            if name not in self.done:
                self.done[name] = value if _is_constant(value) else None
                if value is not None and self.done[name] is None:
                    self.report.add("RL203", f"`{name}` is not a constant", let.value.span,
                                    "neither a number, a text, a range nor a list of them",
                                    fix="write choices where they are used; `let` names constants")
        return self.done[name]


def _circle(scope: Scope, name: str) -> None:
    ring = [*scope.open[scope.open.index(name):], name]
    places = tuple((scope.lets[n].name_span, "part of the circle") for n in ring[1:-1])
    scope.report.add("RL206", f"circular definition: {' → '.join(ring)}", scope.lets[name].name_span,
                     "its value needs itself", also=places, fix="give one of them a value of its own")


def _too_deep(scope: Scope, let: Let) -> None:
    scope.report.add("RL103", f"`let`s that need one another more than {DEEPEST} deep", let.name_span, "the next one",
                     fix="write some of the values out")


def _is_constant(e: Expr | None) -> bool:
    match e:
        case Range(low, high):
            return isinstance(low, Number) and isinstance(high, Number)
        case ListExpr(items):
            return all(isinstance(x, CONSTANTS) for x in items)
    return isinstance(e, CONSTANTS)


def fold(e: Expr | None, scope: Scope) -> Expr | None:
    """`e` with every constant part computed; None where a part of it was wrong (already reported)."""
    match e:
        case Name(name, span) if name in scope.lets:
            value = scope.value(name)
            scope.uses[span] = scope.lets[name].name_span
            return None if value is None else dataclasses.replace(value, span=span)
        case Number(value, span) if not abs(value) < LARGEST:
            return _wrong("the number is too large", span, scope, "beyond 1e300", "RL204", "write a smaller one")
        case Binary():
            return _binary(e, scope)
        case Unary(op, operand, span):
            return _unary(op, fold(operand, scope), span, scope)
        case Call(_, args):
            new = tuple(dataclasses.replace(a, value=fold(a.value, scope)) for a in args)
            return None if any(a.value is None for a in new) else dataclasses.replace(e, args=new)
        case ListExpr(items, span):
            folded = tuple(fold(x, scope) for x in items)
            return None if None in folded else ListExpr(folded, span)
        case Range(low, high):
            ends = fold(low, scope), fold(high, scope)
            return None if None in ends else dataclasses.replace(e, low=ends[0], high=ends[1])
    return e


def _unary(op: str, x: Expr | None, span: Span, scope: Scope) -> Expr | None:
    match op, x:
        case _, None:
            return None
        case "-", Number(value, _, kind):
            return Number(-value, span, kind)
        case "not", Constant(bool() as value):
            return Constant(not value, span)
    return _wrong(f"`{op}` does not apply here", span, scope, "not a number" if op == "-" else "not true or false")


def _binary(e: Binary, scope: Scope) -> Expr | None:
    chain: list[Binary] = []
    node: Expr = e
    while isinstance(node, Binary):
        chain.append(node)
        node = node.left
    left = fold(node, scope)
    for step in reversed(chain):
        right = fold(step.right, scope)
        left = None if left is None or right is None else _apply(step, left, right, scope)
    return left


def _apply(e: Binary, left: Expr, right: Expr, scope: Scope) -> Expr | None:
    if not (isinstance(left, CONSTANTS) and isinstance(right, CONSTANTS)):
        if e.op in COMPARISON or e.op in ("and", "or"):
            return _wrong(f"`{e.op}` compares constants only", e.span, scope, "not a constant")
        return dataclasses.replace(e, left=left, right=right)
    if e.op in COMPARISON:
        return _compare(e, left, right, scope)
    if e.op in ("and", "or"):
        return _logic(e, left, right, scope)
    if isinstance(left, Number) and isinstance(right, Number) and e.op in "+-*/":
        return _arithmetic(e, left, right, scope)
    return _wrong(f"`{e.op}` needs two numbers", e.span, scope, "not two numbers")


def _compare(e: Binary, left: Expr, right: Expr, scope: Scope) -> Expr | None:
    alike = type(left) is type(right) and _kinds_agree(left, right)
    if not alike or (e.op not in ("==", "!=") and not isinstance(left, Number)):
        return _wrong(f"`{e.op}` compares two values of one kind", e.span, scope,
                      f"{describe(left)} against {describe(right)}")
    return Constant(COMPARISON[e.op](left.value, right.value), e.span)


def _kinds_agree(left: Expr, right: Expr) -> bool:
    if not isinstance(left, Number):
        return True
    return left.kind == right.kind or {left.kind, right.kind} == {"plain", "percent"}


def _logic(e: Binary, left: Expr, right: Expr, scope: Scope) -> Expr | None:
    if not all(isinstance(x, Constant) and isinstance(x.value, bool) for x in (left, right)):
        return _wrong(f"`{e.op}` joins two conditions", e.span, scope, "not true or false")
    both = left.value and right.value if e.op == "and" else left.value or right.value
    return Constant(both, e.span)


def _arithmetic(e: Binary, left: Number, right: Number, scope: Scope) -> Number | None:
    kind = _kind(e.op, left.kind, right.kind)
    if kind is None:
        return _wrong(f"{KINDS[left.kind]} `{e.op}` {KINDS[right.kind]} has no meaning", e.span, scope,
                      "these units do not go together")
    if e.op == "/" and right.value == 0:
        return _wrong("division by zero", right.span, scope, "this is 0", "RL204", "divide by another number")
    value = _divide(left.value, right.value) if e.op == "/" else ARITHMETIC[e.op](left.value, right.value)
    if not abs(value) < LARGEST:
        return _wrong("the result is too large", e.span, scope, "beyond 1e300", "RL204", "write smaller numbers")
    return Number(value, e.span, kind)


def _divide(a: float, b: float) -> float:
    """Exact where both are whole numbers and the quotient is one too."""
    return a // b if isinstance(a, int) and isinstance(b, int) and a % b == 0 else a / b


def _kind(op: str, a: str, b: str) -> str | None:
    """The unit of the result, or None where the units cannot be joined."""
    if op in "+-":
        return a if a == b else "plain" if {a, b} == {"plain", "percent"} else None
    if op == "/":
        return "plain" if a == b and a != "plain" else a if b in ("plain", "percent") else None
    if a == b == "percent":
        return a
    if a in ("plain", "percent"):
        return b if b != "percent" else a
    return a if b in ("plain", "percent") else None


def describe(e: Expr) -> str:
    """What was written, in words."""
    match e:
        case Number(kind=kind):
            return KINDS[kind]
        case String():
            return "a text"
        case Constant(None):
            return "`none`"
        case Constant():
            return "true or false"
        case Name(name):
            return f"the name `{name}`"
        case Call(name):
            return f"the choice `{name}`"
        case Range():
            return "a range"
        case ListExpr():
            return "a list"
        case Path():
            return f"the path `{e.text}`"
    return "an expression"


def _wrong(message: str, span: Span, scope: Scope, label: str, code: str = "RL203", fix: str = "") -> None:
    scope.report.add(code, message, span, label, fix=fix)

