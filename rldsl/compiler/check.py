"""Runs every rule on a recipe. The directory `rules/` is the list of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from rldsl.diagnostics import Diagnostic, together

from . import rules
from .recipe import Recipe

WARNING = "rl5"
Rule = Callable[[Recipe], Iterator[Diagnostic]]


@cache
def all_rules() -> tuple[Rule, ...]:
    """The `check` function of every file in `rules/`, by file name."""
    files = [f for folder in rules.__path__ for f in Path(folder).glob("[a-z]*.py")]
    modules = [importlib.import_module(f"{rules.__name__}.{f.stem}") for f in sorted(files, key=lambda f: f.stem)]
    return tuple(m.check for m in modules)


def check(recipe: Recipe, warnings: bool = True) -> list[Diagnostic]:
    """Everything the rules find, errors and warnings, in file order; what one rule says of one place is one finding.

    Without `warnings` the rules that only warn are not asked.
    """
    asked = (rule for rule in all_rules() if warnings or not rule.__module__.rpartition(".")[2].startswith(WARNING))
    return sorted(together(d for rule in asked for d in rule(recipe)), key=lambda d: d.position)
