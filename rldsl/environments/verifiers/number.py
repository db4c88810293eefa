"""Compare numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from .extract import extract

LONGEST = 400
PLAIN = re.compile(r"([-+]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([-+]?[0-9]{1,3}))?")
GROUPED = re.compile(r"[-+]?[0-9]{1,3}(,[0-9]{3})+(?![0-9,])")
LATEX_FRACTION = re.compile(r"([-+]?)\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}")


def numeric(text: str, answer: str, metadata: Mapping[str, Any], *, extract: str = "last_number",
            tolerance: float = 1e-6) -> float:
    """1.0 if the number in the text is the answer, else 0.0.

    `tolerance` is the largest difference that counts as equal, relative to max(1, |answer|); with 0 numbers
    are compared as exact fractions. 1,234 = 1234, −5 = -5, 3.0 = 3, 1e3 = 1000, 1/2 = 0.5. Raises ValueError
    if the reference answer is not a number.
    """
    wanted = parse_number(answer)
    if wanted is None:
        raise ValueError(f"the reference answer {answer!r} is not a number")
    given = parse_number(_extract(text, extract))
    return float(given is not None and abs(given - wanted) <= Fraction(str(tolerance)) * max(1, abs(wanted)))


_extract = extract


def parse_number(text: str | None) -> Fraction | None:
    """The number that `text` is, nothing around it but white space and `$`; None if it is not one."""
    if text is None or len(text) > LONGEST:
        return None
    plain = text.strip().replace("−", "-").replace("$", "").replace("\\!", "")
    plain = re.sub(r"^([-+])\s+", r"\1", plain.strip())
    if latex := LATEX_FRACTION.fullmatch(plain):
        plain = f"{latex[1]}{latex[2].strip()}/{latex[3].strip()}"
    if GROUPED.match(plain):
        plain = plain.replace(",", "")
    above, slash, below = plain.partition("/")
    numerator = _decimal(above.strip())
    if not slash or numerator is None:
        return numerator
    denominator = _decimal(below.strip())
    return numerator / denominator if denominator else None


def _decimal(text: str) -> Fraction | None:
    return Fraction(text) if PLAIN.fullmatch(text) else None
