"""Find the answer inside a response, before anything is compared."""

from __future__ import annotations

import re
from collections import deque

NUMBER = r"""
    (?<![A-Za-z0-9_]) (?<![0-9]\.)                  # not inside a word, nor the tail of 1.2.3
    (?: (?<![A-Za-z0-9_)\]]) (?<!\.) [-+−] )?       # a sign, but not the minus of 5-3
    (?: \$ \s? )?
    (?: [0-9]{1,3} (?:,[0-9]{3})+ (?![0-9]) | [0-9]+ | (?<!\.) (?=\.[0-9]) )
    (?: \.[0-9]+ )?
    (?: [eE][-+−]?[0-9]+ (?![A-Za-z0-9]) )?
    (?: / [0-9]+ (?![0-9/]) (?!\.[0-9]) )?
"""
NUMBERS = re.compile(NUMBER, re.VERBOSE)
BRACES = re.compile(r"\\+f?boxed\s*\{|\\[\\{}]|[{}]")


def extract(text: str, how: str) -> str | None:
    """The answer in `text`, or None where there is none.

    `how`: "all" (the text without white space at its ends), "first_number", "last_number", "boxed" (inside
    the last `\\boxed{…}`, braces balanced), or a regular expression: its first group, or the whole match
    without one, at its last match. Raises ValueError for a pattern that is not a regular expression.
    """
    if how == "all":
        return text.strip() or None
    if how == "boxed":
        return _last_box(text)
    if how in ("first_number", "last_number"):
        numbers = NUMBERS.findall(text)
        return (numbers[0] if how == "first_number" else numbers[-1]) if numbers else None
    return _last_match(text, how)


def _last_match(text: str, pattern: str) -> str | None:
    found = deque(compiled(pattern).finditer(text), maxlen=1)
    if not found:
        return None
    whole = found[0].group(1) if found[0].re.groups else found[0].group()
    return whole.strip() if whole is not None else None


def compiled(pattern: str) -> re.Pattern[str]:
    """The compiled pattern; raises ValueError with the reason where it is not a regular expression."""
    try:
        return re.compile(pattern, re.DOTALL)
    except re.error as error:
        raise ValueError(f"'{pattern}' is not a regular expression: {error}") from None


def _last_box(text: str) -> str | None:
    """Inside the last box that is closed; an unclosed one is a response cut short and counts for nothing."""
    opened: list[int | None] = []
    last = (-1, None)
    for brace in BRACES.finditer(text):
        if brace.group() == "}":
            start = opened.pop() if opened else None
            if start is not None and start > last[0]:
                last = (start, text[start:brace.start()].strip())
        elif brace.group().endswith("{") and brace.group() != r"\{":
            opened.append(brace.end() if "boxed" in brace.group() else None)
    return last[1]
