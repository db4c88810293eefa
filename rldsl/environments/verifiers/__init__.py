"""Scorers: pure functions `score(text, answer, metadata) → float | None`, 1.0 for right and 0.0 for wrong.

A wrong or missing answer in the text scores 0. What makes scoring itself impossible (a reference answer that
is no number, a pattern that is no regular expression) raises ValueError: a failure is not a score. `math` and
`task` need heavy packages; these two and `execute` are imported when they are first named.
"""

from __future__ import annotations

from typing import Any

from .number import numeric
from .text import exact, regex, similarity
from .values import json

__all__ = ["execute", "exact", "json", "math", "numeric", "regex", "similarity", "task"]

LAZY = {"math": "math_answer", "task": "own", "execute": "program"}


def __getattr__(name: str) -> Any:
    if name not in LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{LAZY[name]}"), name)
