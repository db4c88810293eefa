"""Compare JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from json import loads
from typing import Any

from .extract import extract


def json(text: str, answer: str, metadata: Mapping[str, Any], *, extract: str = "all") -> float:
    """1.0 if the extracted text is JSON and equal in value to the answer: key order, white space and the
    spelling of numbers (1, 1.0) do not matter; `true` is not 1. Raises ValueError if the reference answer is
    not JSON."""
    try:
        wanted = loads(answer, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise ValueError(f"the reference answer {answer!r} is not JSON") from None
    try:
        return float(same(loads(_extract(text, extract) or "", parse_constant=_refuse), wanted))
    except (ValueError, RecursionError):
        return 0.0


_extract = extract


def same(a: Any, b: Any) -> bool:
    """Whether two JSON values are equal; a boolean never equals a number."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")
