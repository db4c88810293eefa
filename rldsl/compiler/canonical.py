"""The canonical form: a typed recipe as plain JSON data, complete, with every default, and back.

Two recipes that say the same have equal canonical forms: sums and products are flat, weights are multiplied out,
and terms whose order means nothing are sorted. What runs is read from this form.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from rldsl.axes import discover
from rldsl.axes.base import Wrapping
from rldsl.axes.choice import Choice
from rldsl.axes.traits import CORRECTNESS
from rldsl.axes.types import Band, Policies
from rldsl.diagnostics import RecipeError, Span, at

from .recipe import Feedback, Node, Product, Recipe, Scaled, Sum
from .settings import Settings, Task, blocks, hints
from .typehints import options

FORMAT = 1
PLAN = Span("plan", 1, 1, 1, 1)
ONE = ("ratio", "gate", "reduction", "schedule", "placement")
PIPES = ("sampling", "advantage")
SETS = ("regularisers", "distribution")


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────

def canonical(recipe: Recipe) -> dict[str, Any]:
    """The recipe as JSON data: {"format", "name", "doc", "axes", "settings", "seed"}."""
    axes: dict[str, Any] = {"feedback": _feedback(recipe.feedback)}
    axes |= {axis: choice_data(getattr(recipe, axis).choice) for axis in ONE}
    axes |= {axis: [choice_data(n.choice) for n in getattr(recipe, axis)] for axis in PIPES}
    axes |= {axis: sorted((choice_data(n.choice) for n in getattr(recipe, axis)), key=key) for axis in SETS}
    settings = {block: {f.name: _value(getattr(part, f.name), hints(type(part))[f.name])
                        for f in dataclasses.fields(part)}
                for block in blocks() for part in [getattr(recipe.settings, block)]}
    return {"format": FORMAT, "name": recipe.name, "doc": recipe.doc, "axes": axes, "settings": settings,
            "seed": recipe.seed}


def key(data: Any) -> str:
    """A text that is equal for equal data: for sorting and hashing."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def choice_data(choice: Choice) -> dict[str, Any]:
    """A choice with all its parameters; `version` and `package` say which definition of its name is meant."""
    cls = type(choice)
    package = discover.package(cls.__module__)
    params = {f.name.removesuffix("_"): _value(getattr(choice, f.name), hints(cls)[f.name])
              for f in dataclasses.fields(cls)}
    data = {"axis": cls.axis, "choice": choice.name, "version": cls.version, "params": params}
    return data if package is None else {**data, "package": package}


def _value(value: Any, hint: Any) -> Any:
    match value:
        case bool() | None | str():
            return value
        case int() | float():
            real = any(base is float for base, _ in options(hint))
            return value + 0.0 if real else value
        case Band(low, high):
            return {"band": [low + 0.0, high + 0.0]}
        case Policies(numerator, denominator):
            return {"policies": [numerator, denominator]}
        case Task(name, samples):
            return {"task": name, "samples": samples}
        case Choice():
            return choice_data(value)
        case tuple():
            return [_value(x, hint) for x in value]
    raise TypeError(f"no form for {value!r}")


# ── feedback ─────────────────────────────────────────────────────────────────────────────────────────

def _feedback(f: Feedback) -> dict[str, Any]:
    terms = [_weighted(factor, factors) for factor, factors in _terms(f)]
    ordered = [t for t in terms if _correctness(t)] + sorted((t for t in terms if not _correctness(t)), key=key)
    return ordered[0] if len(ordered) == 1 else {"sum": ordered}


def _terms(f: Feedback) -> list[tuple[float, list[Any]]]:
    """A sum of weighted products; each product as its factors, written as data."""
    match f:
        case Node(choice):
            return [(1.0, [choice_data(choice)])]
        case Sum(parts, apart=True):
            return [(1.0, [{"vector": [_feedback(part) for part in parts]}])]
        case Sum(parts):
            return [term for part in parts for term in _terms(part)]
        case Scaled(factor, part):
            return [(factor * weight, factors) for weight, factors in _terms(part)]
        case Product(parts):
            return [_product(parts)]
    raise TypeError(f"no feedback: {f!r}")


def _product(parts: tuple[Feedback, ...]) -> tuple[float, list[Any]]:
    weight, found = 1.0, []
    for part in parts:
        terms = _terms(part)
        if len(terms) == 1:
            weight, found = weight * terms[0][0], found + terms[0][1]
        else:
            found.append(_feedback(part))
    return weight, [x for x in found if _correctness(x)] + sorted((x for x in found if not _correctness(x)), key=key)


def _weighted(weight: float, factors: list[Any]) -> dict[str, Any]:
    body = factors[0] if len(factors) == 1 else {"product": factors}
    return body if weight == 1.0 else {"scale": weight, "of": body}


def _correctness(data: Mapping[str, Any]) -> bool:
    """Whether a term holds a measure of correctness. The first of these is what group filters look at."""
    if "choice" in data:
        choice = _choice(data)
        return CORRECTNESS in (choice.inner() if isinstance(choice, Wrapping) else choice).gives
    inner = next((data[kind] for kind in ("sum", "vector", "product") if kind in data), None)
    return any(_correctness(x) for x in (inner or [data["of"]]))


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────

def from_canonical(data: Mapping[str, Any]) -> Recipe:
    """The recipe again; its spans all say "plan" and its history is empty.

    Raises: RecipeError (RL407) where the data needs another version of rldsl or of a package.
    """
    if data.get("format") != FORMAT:
        raise _other_version(f"the plan has recipe format {data.get('format')}, this rldsl reads {FORMAT}")
    axes = data["axes"]
    parts: dict[str, Any] = {"feedback": _read_feedback(axes["feedback"])}
    parts |= {axis: _node(axes[axis]) for axis in ONE}
    parts |= {axis: tuple(_node(x) for x in axes[axis]) for axis in (*PIPES, *SETS)}
    settings = Settings(**{block: cls(**{k: read(v) for k, v in data["settings"][block].items()})
                           for block, cls in blocks().items()})
    return Recipe(data["name"], PLAN.file, data["doc"], PLAN, **parts, settings=settings, seed=data["seed"],
                  axis_spans={axis: PLAN for axis in discover.AXES}, origins={})


def _node(data: Mapping[str, Any]) -> Node:
    return Node(_choice(data), PLAN)


def _choice(data: Mapping[str, Any]) -> Choice:
    axis, name = data["axis"], data["choice"]
    cls = discover.find(axis, name)
    if cls is None:
        raise _other_version(f"the plan uses {axis}.{name} of {data.get('package', 'rldsl')}, which is not here")
    here = (cls.version, discover.package(cls.__module__))
    if (data["version"], data.get("package")) != here:
        wanted = f"{data['version']} ({data.get('package') or 'shipped'})"
        raise _other_version(f"the plan uses version {wanted} of {axis}.{name}; "
                             f"here is {here[0]} ({here[1] or 'shipped'})")
    fields = {f.name.removesuffix("_"): f.name for f in dataclasses.fields(cls)}
    return cls(**{fields[k]: read(v) for k, v in data["params"].items()})


def read(data: Any) -> Any:
    """One value from its data: a choice, a band, a plain number."""
    match data:
        case {"band": [low, high]}:
            return Band(low, high)
        case {"policies": [numerator, denominator]}:
            return Policies(numerator, denominator)
        case {"task": name, "samples": samples}:
            return Task(name, samples)
        case {"choice": _}:
            return _choice(data)
        case list():
            return tuple(read(x) for x in data)
    return data


def _read_feedback(data: Mapping[str, Any]) -> Feedback:
    match data:
        case {"sum": parts}:
            return Sum(tuple(_read_feedback(x) for x in parts))
        case {"vector": parts}:
            return Sum(tuple(_read_feedback(x) for x in parts), apart=True)
        case {"product": parts}:
            return Product(tuple(_read_feedback(x) for x in parts))
        case {"scale": factor, "of": part}:
            return Scaled(factor, _read_feedback(part), PLAN)
    return _node(data)


def _other_version(message: str) -> RecipeError:
    return RecipeError([at("RL407", f"{message[0].upper()}{message[1:]}.", None,
                           why="the same name could mean another formula here",
                           fix="Compile the recipe again, or install the version that made the plan.")])
