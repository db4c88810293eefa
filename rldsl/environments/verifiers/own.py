"""The task's own scorer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .extract import extract
from .text import exact


def task(text: str, answer: str, metadata: Mapping[str, Any], *, extract: str = "all") -> float:
    """What the task's author says the response is worth, usually between 0 and 1.

    Toy tasks compare exactly; reasoning-gym tasks bring a scorer each. Raises ValueError for a task that has
    none, such as one read from a file.
    """
    if "toy" in metadata:
        return exact(text, answer, metadata, extract=extract)
    if "gym" not in metadata:
        raise ValueError("this task has no scorer of its own; name one: exact, numeric, math, json or regex")
    return float(_gym(metadata["gym"])(_extract(text, extract), metadata["entry"]))


_extract = extract
GYM = "reasoning_gym.factory"


@cache
def _gym(name: str) -> Any:
    return import_module(GYM).get_score_answer_fn(name)


if find_spec(GYM.partition(".")[0]):
    import_module(GYM)  # seconds, which must not count as the first response's time
