"""Compare mathematical expressions with math-verify (LaTeX and plain, symbolically)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from math_verify import parse, verify

from .extract import extract


def math(text: str, answer: str, metadata: Mapping[str, Any], *, extract: str = "boxed") -> float:
    """1.0 if the extracted expression equals the answer in value, else 0.0.

    `extract: all` leaves finding the expression to math-verify. Its own time-outs rest on signals and turn
    into a score of 0, so they are off: the scoring pool's deadline holds. Raises ValueError if the reference
    answer cannot be parsed, and what math-verify raises where it cannot compare two expressions.
    """
    wanted = _parsed(answer)
    if not wanted:
        raise ValueError(f"math-verify cannot parse the reference answer {answer!r}")
    found = _extract(text, extract)
    if found is None:
        return 0.0
    given = parse(text, parsing_timeout=None) if extract == "all" else _parsed(found)
    return float(verify(wanted, given, timeout_seconds=None, raise_on_error=True))


_extract = extract
logging.getLogger("math_verify").setLevel(logging.ERROR)


def _parsed(expression: str) -> list[Any]:
    """What stands alone is given the dollar signs by which math-verify knows an expression."""
    bare = "$" not in expression and "\\boxed" not in expression
    return parse(f"${expression}$" if bare else expression, parsing_timeout=None)
