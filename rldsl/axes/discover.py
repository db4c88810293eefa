"""The directory listing is the registry: names come from files, and only mentioned files are imported."""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from pathlib import Path

from .choice import Choice, Example

AXES = ("feedback", "sampling", "advantage", "ratio", "gate", "reduction", "distribution", "system")
FAMILIES = (*AXES, "decay", "support", "optimizer", "detector", "latency", "search")
PLUGIN_GROUP = "rldsl.axes"


@cache
def _plugins() -> dict[tuple[str, str], str]:
    """{(axis, name): module} of installed packages: entry points `axis.name = "pkg.module"` in group rldsl.axes."""
    from importlib.metadata import entry_points

    found: dict[tuple[str, str], str] = {}
    for point in entry_points(group=PLUGIN_GROUP):
        axis, _, name = point.name.partition(".")
        if (axis, name) in found or name in _shipped(axis):
            raise ValueError(f"two installed packages define {axis}.{name}; the second is {point.value}")
        found[axis, name] = point.value
    return found


@cache
def _shipped(axis: str) -> dict[str, str]:
    """{name: module} of the choice files under rldsl/axes/<axis>."""
    package = importlib.import_module(f"rldsl.axes.{axis}")
    files = [f for folder in package.__path__ for f in Path(folder).glob("[a-z]*.py")]
    return {f.stem: f"rldsl.axes.{axis}.{f.stem}" for f in sorted(files, key=lambda f: f.stem)}


def names(axis: str) -> tuple[str, ...]:
    """Every choice of an axis, shipped and installed, sorted."""
    return tuple(sorted({*_shipped(axis), *(n for a, n in _plugins() if a == axis)}))


def find(axis: str, name: str) -> type[Choice] | None:
    """The choice's class, or None where the axis has no such choice. Imports that one file."""
    module = _shipped(axis).get(name) or _plugins().get((axis, name))
    return _class_in(module) if module else None


def examples(axis: str, name: str) -> list[Example]:
    """The worked examples of a choice."""
    cls = find(axis, name)
    return list(getattr(importlib.import_module(cls.__module__), "EXAMPLES", ())) if cls else []


@cache
def _class_in(module: str) -> type[Choice]:
    loaded = importlib.import_module(module)
    own = [c for _, c in inspect.getmembers(loaded, inspect.isclass)
           if issubclass(c, Choice) and c.__module__ == loaded.__name__]
    if len(own) != 1:
        raise TypeError(f"{module} must define exactly one choice, found {len(own)}")
    return own[0]


@cache
def package(module: str) -> str | None:
    """Name and version of the installed package that brought a choice's module; None for shipped choices."""
    if module.startswith("rldsl.axes."):
        return None
    from importlib.metadata import entry_points

    found = next((p.dist for p in entry_points(group=PLUGIN_GROUP) if p.value == module and p.dist), None)
    return f"{found.name} {found.version}" if found else None
