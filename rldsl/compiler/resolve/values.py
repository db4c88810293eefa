"""What was written becomes typed, bounded values and choices, judged by the annotations of the parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args, get_origin

from rldsl.axes import discover
from rldsl.axes.base import Source
from rldsl.axes.choice import Choice
from rldsl.axes.types import DENOMINATORS, NUMERATORS, Band, Policies, TermName
from rldsl.compiler.recipe import Node
from rldsl.compiler.settings import RecipeName, TrackerAddress, hints
from rldsl.compiler.typehints import UNIT_EXAMPLES, bound, expected, is_choice, kinds, options, unit
from rldsl.diagnostics import Span
from rldsl.grammar.tree import Argument, Binary, Call, Constant, Expr, ListExpr, Name, Number, Range, String

from .fold import KINDS, describe
from .refuse import SENTINELS, leaf_name, refuse, sentinel, unknown_choice
from .report import Report, did_you_mean
from .together import hold_together

INVALID = object()
"""Stands for a value whose error is already reported."""


# ── one value ────────────────────────────────────────────────────────────────────────────────────────

def typed(e: Expr, hint: Any, name: str, report: Report) -> Any:
    """`e` as a value of the annotation `hint`, or INVALID once the error is reported (RL201, 203, 204, 209)."""
    for base, marks in options(hint):
        if _fits(e, base, marks):
            return _convert(e, base, marks, hint, name, report)
    refuse(e, hint, name, report)
    return INVALID


def _fits(e: Expr, base: Any, marks: tuple) -> bool:
    """Whether the *form* of what was written belongs to this alternative; its value is judged later."""
    if get_origin(base) is Literal:
        return _word(e) in get_args(base)
    if get_origin(base) is tuple:
        return isinstance(e, ListExpr)
    if is_choice(base):
        return leaf_name(e) is not None and discover.find(base.axis, leaf_name(e)) is not None
    names_recipe = any(isinstance(m, (RecipeName, TermName)) for m in marks)
    match e:
        case Constant(None):
            return base is type(None)
        case Constant():
            return base is bool
        case Number():
            return base in (int, float)
        case String():
            return base is str and not names_recipe
        case Name():
            return base is str and names_recipe
        case Range():
            return base is Band
    return isinstance(e, Binary) and e.op == "/" and base is Policies


def _word(e: Expr) -> Any:
    match e:
        case Name(word):
            return word
        case Constant(None):
            return "none"
        case Number(int() as value, kind="plain"):
            return value
    return INVALID


def _convert(e: Expr, base: Any, marks: tuple, hint: Any, name: str, report: Report) -> Any:
    if get_origin(base) is Literal:
        return _word(e)
    if get_origin(base) is tuple:
        items = tuple(typed(x, get_args(base)[0], name, report) for x in e.items)
        return INVALID if INVALID in items else items
    if is_choice(base):
        node = choice(e, base.axis, base, report, name)
        return INVALID if node is None else node.choice
    match e:
        case Number():
            return _number(e, base, marks, hint, name, report)
        case Range():
            return _band(e, marks, name, report)
        case Binary():
            return _policies(e, name, report)
        case Name(word):
            return word
        case String(value) if value in SENTINELS and any(b is type(None) for b, _ in options(hint)):
            sentinel(e, name, report)
            return INVALID
        case String() if any(isinstance(m, TrackerAddress) for m in marks):
            return _address(e, marks, name, report)
    return e.value


def _address(e: String, marks: tuple, name: str, report: Report) -> Any:
    broken = next(m for m in marks if isinstance(m, TrackerAddress)).broken(e.value)
    if broken is None:
        return e.value
    report.add("RL204", f"`{name}` {broken}", e.span, "no address of a tracker",
               fix='write "sqlite:///mlflow.db", "file:///path/mlruns", "http://host:5000" or none')
    return INVALID


def _number(e: Number, base: type, marks: tuple, hint: Any, name: str, report: Report) -> Any:
    if e.kind not in kinds(marks):
        wanted = UNIT_EXAMPLES.get(unit(marks))
        instead = f"write {e.value:g}" if e.kind == "percent" and base is float else "write it without this unit"
        report.add("RL203", f"`{name}` is {expected(hint)}, not {KINDS[e.kind]}", e.span, "wrong unit",
                   fix=f"write the unit: {wanted}" if wanted else instead)
        return INVALID
    if base is int and e.value != int(e.value):
        report.add("RL203", f"`{name}` is {expected(hint)}", e.span, "not a whole number",
                   fix="write it without a fraction")
        return INVALID
    broken = bound(marks).broken(float(e.value))
    if broken and e.value in (0, -1) and any(b is type(None) for b, _ in options(hint)):
        sentinel(e, name, report)
        return INVALID
    if broken:
        report.add("RL204", f"`{name}` {broken}", e.span, f"{e.value:g} is out of bounds",
                   fix=f"write {expected(hint)}")
        return INVALID
    return base(e.value)


def _band(e: Range, marks: tuple, name: str, report: Report) -> Any:
    if e.scale != "none":
        report.add("RL203", f"`{name}` is a range such as 0.5..5.0", e.span, "the form of a sweep",
                   fix="write low..high")
        return INVALID
    end = Annotated[float, *marks] if marks else float
    ends = [_number(x, float, marks, end, name, report) if isinstance(x, Number)
            else refuse(x, float, name, report) or INVALID for x in (e.low, e.high)]
    if INVALID in ends:
        return INVALID
    if ends[0] > ends[1]:
        report.add("RL204", f"`{name}` must not end below its start", e.span,
                   f"{ends[0]:g} is above {ends[1]:g}", fix=f"write {ends[1]:g}..{ends[0]:g}")
        return INVALID
    return Band(*ends)


def _policies(e: Binary, name: str, report: Report) -> Any:
    sides = []
    for part, legal in ((e.left, NUMERATORS), (e.right, DENOMINATORS)):
        if isinstance(part, Name) and part.id in legal:
            sides.append(part.id)
        else:
            report.add("RL203", f"`{name}` compares two policies such as current / old", part.span,
                       f"{describe(part)} is no policy here", fix=f"write {' or '.join(legal)}")
    return Policies(*sides) if len(sides) == 2 else INVALID


FORMS = {"sampling": "SAMPLER | STAGE", "advantage": "ESTIMATOR | STAGE",
         "gate": "GATE + REGULARISER, each with its strength in its own brackets",
         "distribution": "TERM + TERM"}
"""How the choices of an axis are joined, where there can be several."""

# ── a choice and its arguments ───────────────────────────────────────────────────────────────────────

def choice(e: Expr, axis: str, role: type[Choice] | tuple[type[Choice], ...], report: Report,
           place: str = "") -> Node | None:
    """The choice `e` names on `axis`, constructed; None once the error is reported (RL201, 203–205, 208, 209).

    `place` is how messages call where it stands, if that is not the axis.
    """
    name = leaf_name(e)
    if name is None:
        _no_choice(e, axis, report)
        return None
    cls = discover.find(axis, name)
    if cls is None:
        unknown_choice(name, axis, e.name_span if isinstance(e, Call) else e.span, report)
        return None
    fits = issubclass(cls, role)
    if not fits:
        _wrong_role(name, axis, cls, role, e.span, report)
    node = construct(cls, e.args if isinstance(e, Call) else (), e.span, f"{place or axis}.{name}", report)
    return node if fits else None


def _no_choice(e: Expr, axis: str, report: Report) -> None:
    if isinstance(e, Binary) and axis in FORMS:
        report.add("RL203", f"`{e.op}` joins nothing on {axis}", e.span, "no choice", fix=f"write {FORMS[axis]}")
    else:
        report.add("RL203", f"{axis} is a choice, not {describe(e)}", e.span, "no choice",
                   fix=did_you_mean("", discover.names(axis)))


def _wrong_role(name: str, axis: str, cls: type[Choice], role: Any, span: Span, report: Report) -> None:
    wanted = role if isinstance(role, tuple) else (role,)
    fitting = [n for n in discover.names(axis) if issubclass(discover.find(axis, n), wanted)]
    said = " or ".join(spoken(r) for r in wanted)
    report.add("RL203", f"`{name}` is {spoken(kind(cls))}; here {axis} needs {said}", span,
               f"not {said}", fix=f"one of {', '.join(fitting)}" if fitting else "")


def kind(cls: type[Choice]) -> type[Choice]:
    """The base class that says what a choice answers with."""
    return next((c for c in cls.__mro__ if c.__module__ == Source.__module__), cls)


def spoken(base: type[Choice]) -> str:
    """A base class in words: RewardFilter → “a reward filter”."""
    text = "".join(f" {c.lower()}" if c.isupper() else c for c in base.__name__).strip()
    return f"an {text}" if text[0] in "aeiou" else f"a {text}"


def construct(cls: type[Choice], args: tuple[Argument, ...], span: Span, shown: str, report: Report) -> Node | None:
    """The choice with its arguments; None once an error is reported."""
    fields = {f.name.removesuffix("_"): f for f in dataclasses.fields(cls)}
    given, ok = bind(fields, cls.positional, args, span, shown, report)
    values: dict[str, Any] = {}
    for name, argument in given.items():
        field = fields[name].name
        values[field] = typed(argument.value, hints(cls)[field], f"{shown}.{name}", report)
    if not ok or INVALID in values.values():
        return None
    node = Node(cls(**values), span, {name: argument.value.span for name, argument in given.items()})
    return node if hold_together(node, shown, report) else None


def bind(fields: Mapping[str, dataclasses.Field], positional: int, args: tuple[Argument, ...], span: Span,
         shown: str, report: Report) -> tuple[dict[str, Argument], bool]:
    """Arguments by parameter name, and whether all was well (else RL205 is reported)."""
    given: dict[str, Argument] = {}
    before, order = len(report.found), list(fields)[:positional]
    for index, argument in enumerate(args):
        name = argument.name
        if name is None:
            name = _positional(index, order, args, argument, shown, report)
        elif name not in fields:
            report.add("RL205", f"`{shown}` has no parameter `{name}`", argument.name_span or argument.span,
                       "unknown parameter", fix=did_you_mean(name, fields) or "it takes no parameters")
            continue
        if name in given:
            report.add("RL205", f"`{shown}.{name}` is given twice", argument.span, "the second time",
                       also=((given[name].span, "the first time"),), fix="keep one of them")
        elif name:
            given[name] = argument
    if len(report.found) == before:
        _missing(fields, given, span, shown, report)
    return given, len(report.found) == before


def _positional(index: int, order: list[str], args: tuple[Argument, ...], argument: Argument, shown: str,
                report: Report) -> str | None:
    if any(a.name for a in args[:index]):
        report.add("RL205", "an argument without a name stands after named ones", argument.span,
                   "which parameter is this?", fix="write unnamed arguments first, or name it")
        return None
    if index >= len(order):
        takes = f"`{shown}` takes {len(order) or 'no'} unnamed argument{'' if len(order) == 1 else 's'}"
        report.add("RL205", takes, argument.span, "which parameter is this?", fix="name it")
        return None
    return order[index]


def _missing(fields: Mapping[str, dataclasses.Field], given: Mapping[str, Argument], span: Span, shown: str,
             report: Report) -> None:
    for name, field in fields.items():
        no_default = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if no_default and name not in given:
            report.add("RL205", f"`{shown}` needs `{name}`, which has no default", span, f"`{name}` is missing",
                       fix=f"write {shown.rpartition('.')[2]}({name}: …)")
