"""The histories of a resolved recipe's values, under the paths a user would write."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping

from rldsl.axes.choice import Choice
from rldsl.axes.discover import AXES
from rldsl.compiler.recipe import Node, Origin, feedback_nodes
from rldsl.compiler.settings import Settings, bare_field, blocks
from rldsl.compiler.show import default_text, show

from .trail import Key, Trail


def origins(parts: Mapping, settings: Settings, trail: Trail) -> dict[str, tuple[Origin, ...]]:
    """{path: history}, the default first. A parameter's path is the shortest that a dotted override may use."""
    found: dict[str, tuple[Origin, ...]] = {}
    for axis in AXES:
        found[axis] = tuple(trail.steps.get((axis,), ()))
        found |= _terms(axis, [n.choice for n in nodes(axis, parts)], trail)
    for block, cls in blocks().items():
        found |= _block(block, cls, settings, trail)
    found["seed"] = (Origin("default", show(DEFAULT_SEED), None), *trail.steps.get(("seed",), ()))
    return found


DEFAULT_SEED = 1


def nodes(axis: str, parts: Mapping) -> Iterator[Node]:
    """The choices on an axis, in written order, of the recipe fields `parts`."""
    match axis:
        case "feedback":
            yield from feedback_nodes(parts["feedback"])
        case "gate":
            yield from sorted((parts["gate"], *parts["regularisers"]), key=lambda n: (n.span.line, n.span.column))
        case "system":
            yield from (parts["schedule"], parts["placement"])
        case _:
            part = parts[axis]
            yield from (part,) if isinstance(part, Node) else part


def _terms(place: str, choices: list[Choice], trail: Trail) -> dict[str, tuple[Origin, ...]]:
    have = Counter(p for c in choices for p in _parameters(c))
    names, met = Counter(c.name for c in choices), Counter()
    found = {}
    for choice in choices:
        met[choice.name] += 1
        index = f"[{met[choice.name]}]" if names[choice.name] > 1 else ""
        for parameter in _parameters(choice):
            short = have[parameter] == 1
            path = f"{place}.{parameter}" if short else f"{place}.{choice.name}{index}.{parameter}"
            key: Key = (place, choice.name, met[choice.name], parameter)
            found[path] = _history(type(choice), parameter, trail.steps.get(key, []))
    return found


def _parameters(choice: Choice) -> list[str]:
    return [f.name.removesuffix("_") for f in dataclasses.fields(choice)]


def _history(cls: type, parameter: str, steps: list[Origin]) -> tuple[Origin, ...]:
    field = next(f.name for f in dataclasses.fields(cls) if f.name.removesuffix("_") == parameter)
    default = default_text(cls, field)
    first = () if default is None else (Origin("default", default, None),)
    later = (dataclasses.replace(s, value=default) if s.value == "default" and default is not None else s
             for s in steps)
    return (*first, *later)


def _block(block: str, cls: type, settings: Settings, trail: Trail) -> dict[str, tuple[Origin, ...]]:
    found = {f"{block}.{f.name}": _history(cls, f.name, trail.steps.get((block, f.name), []))
             for f in dataclasses.fields(cls)}
    bare = bare_field(cls)
    value = getattr(getattr(settings, block), bare[0]) if bare else None
    choices = [c for c in (value if isinstance(value, tuple) else (value,)) if isinstance(c, Choice)]
    if isinstance(value, tuple):
        found |= {f"{block}.{c.name}": tuple(trail.steps.get((block, c.name), ())) for c in choices}
    return found | _terms(block, choices, trail)
