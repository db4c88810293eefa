"""Compare text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any

from .extract import compiled, extract


def exact(text: str, answer: str, metadata: Mapping[str, Any], *, extract: str = "all") -> float:
    """1.0 if the extracted text is the answer, character for character but for white space at the ends."""
    return float(_extract(text, extract) == answer.strip())


def regex(text: str, answer: str, metadata: Mapping[str, Any], *, pattern: str,
          extract: str = "all") -> float:
    """1.0 if `pattern` is found in the extracted text, else 0.0. `.` matches new lines too.

    `{answer}` in the pattern stands for the answer, taken literally. Raises ValueError for what is not a
    regular expression.
    """
    wanted = compiled(pattern.replace("{answer}", re.escape(answer.strip())))
    return float(wanted.search(_extract(text, extract) or "") is not None)


_extract = extract


def similarity(text: str, answer: str, metadata: Mapping[str, Any], *, extract: str = "all") -> float:
    """2·M/T: M characters in matching blocks, T characters of both texts; 0 where nothing is extracted."""
    found = _extract(text, extract)
    return 0.0 if found is None else SequenceMatcher(None, found, answer, autojunk=False).ratio()
