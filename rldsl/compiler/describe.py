"""What there is to say about one choice, read off its file: call, parameters, formulas, examples."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from rldsl.algebra.expr import TOKEN, UPDATE, Const, Expr, Var
from rldsl.algebra.simplify import simplify
from rldsl.axes import discover
from rldsl.axes.base import Ratio
from rldsl.axes.choice import Choice, Example
from rldsl.axes.types import Band, SameAs

from .formulas import formulas
from .settings import hints
from .show import default_text
from .typehints import expected

RATIO = Var("ratio", TOKEN, "r_t", "rₜ", gradient=True)


@dataclass(frozen=True)
class Parameter:
    """One parameter as a user sees it; `default` is None where it must be written."""

    name: str
    accepts: str
    default: str | None
    doc: str


@dataclass(frozen=True)
class Description:
    """A choice as `explain` and `axes` show it. `formulas` holds (what it is, the expression)."""

    axis: str
    name: str
    call: str
    doc: str
    version: int
    parameters: tuple[Parameter, ...]
    formulas: tuple[tuple[str, Expr], ...]
    needs: tuple[str, ...]
    gives: tuple[str, ...]
    examples: tuple[str, ...]

    @property
    def summary(self) -> str:
        """The first line of its text."""
        return self.doc.partition("\n")[0]


def describe(axis: str, name: str) -> Description | None:
    """The description of a choice, or None where the axis has no such choice."""
    cls = discover.find(axis, name)
    if cls is None:
        return None
    module = import_module(cls.__module__)
    examples = discover.examples(axis, name)
    parameters = tuple(_parameters(cls, module))
    traits = _sample(cls, examples, symbolic=False)
    return Description(
        axis, name, _call(name, parameters, cls.positional), inspect.getdoc(module) or "", cls.version, parameters,
        tuple(_formulas(cls, examples)), tuple(sorted(t.text for t in traits.needs)) if traits else (),
        tuple(sorted(t.text for t in traits.gives)) if traits else (), tuple(e.says for e in examples))


def _parameters(cls: type[Choice], module: ModuleType) -> Iterator[Parameter]:
    said = {k: v for base in reversed(cls.__mro__[:-1]) for k, v in _comments(base).items()}
    for f in dataclasses.fields(cls):
        yield Parameter(f.name.removesuffix("_"), expected(hints(cls)[f.name]), default_text(cls, f.name),
                        said.get(f.name, ""))


def _comments(cls: type) -> dict[str, str]:
    """{field: the comment behind its line}, read from the source of a class; empty where there is none."""
    try:
        source = textwrap.dedent(inspect.getsource(cls))
    except (OSError, TypeError):
        return {}
    lines = source.encode().split(b"\n")
    fields = [s for s in ast.parse(source).body[0].body if isinstance(s, ast.AnnAssign)]
    rest = {s.target.id: lines[s.end_lineno - 1][s.end_col_offset:].decode() for s in fields}
    return {name: text.partition("#")[2].strip() for name, text in rest.items()}


def _call(name: str, parameters: tuple[Parameter, ...], positional: int) -> str:
    shown = [f"{p.name}: {p.default}" if p.default is not None else p.name if i < positional else f"{p.name}: …"
             for i, p in enumerate(parameters)]
    return f"{name}({', '.join(shown)})" if shown else name


def _formulas(cls: type[Choice], examples: list[Example]) -> Iterator[tuple[str, Expr]]:
    """With the parameters' own names where the choice allows it, else with the numbers of its first example."""
    for symbolic in (True, False):
        choice = _sample(cls, examples, symbolic)
        if choice is None:
            continue
        ratio = None if isinstance(choice, Ratio) else RATIO
        try:
            found = {what: simplify(e) for what, e in formulas(choice, ratio).items()}
            yield from (pair for pair in found.items() if len(found) == 1 or not isinstance(pair[1], Const))
            return
        except TypeError:  # a parameter that is compared or counted in Python must be a number
            continue


def _sample(cls: type[Choice], examples: list[Example], symbolic: bool) -> Choice | None:
    """The choice with the values of its first example; numbers become variables with the parameter's name."""
    values = dict(examples[0].params) if examples else {}
    required = [f.name for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING]
    if any(name not in values for name in required):
        return None
    if symbolic:
        values |= {f.name: _symbol(f.name, values.get(f.name, f.default)) for f in dataclasses.fields(cls)}
    return cls(**values)


def _symbol(name: str, value: Any) -> Any:
    shown = name.removesuffix("_")
    if isinstance(value, SameAs) or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return Var(shown, UPDATE, r"\mathit{" + shown.replace("_", r"\_") + "}", shown)
    if isinstance(value, Band):
        return Band(_symbol(f"{shown}.low", value.low), _symbol(f"{shown}.high", value.high))
    return value
