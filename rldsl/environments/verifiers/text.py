"""Compare text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .extract import compiled, extract


def exact(text: str, answer: str, metadata: Mapping[str, Any], *, extract: str = "all") -> float:
    """1.0 if the extracted text is the answer, character for character but for white space at the ends."""
    return float(_extract(text, extract) == answer.strip())


def regex(text: str, answer: str, metadata: Mapping[str, Any], *, pattern: str | None = None,
          extract: str = "all") -> float:
    """1.0 if `pattern` is found in the extracted text, else 0.0. `.` matches new lines too.

    `{answer}` in the pattern stands for the answer, taken literally; without a pattern the answer itself is the
    regular expression. Raises ValueError for what is not a regular expression.
    """
    wanted = answer if pattern is None else pattern.replace("{answer}", re.escape(answer.strip()))
    found = _extract(text, extract)
    return float(compiled(wanted).search(found or "") is not None)


_extract = extract
