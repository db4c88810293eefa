"""The exact values of numbers and strings."""

from __future__ import annotations

import re
from decimal import Decimal

UNITS: dict[str, tuple[Decimal, str]] = {
    "k": (Decimal(1000), "plain"), "M": (Decimal(10) ** 6, "plain"),
    "KB": (Decimal(1000), "bytes"), "MB": (Decimal(1000) ** 2, "bytes"), "GB": (Decimal(1000) ** 3, "bytes"),
    "KiB": (Decimal(1024), "bytes"), "MiB": (Decimal(1024) ** 2, "bytes"), "GiB": (Decimal(1024) ** 3, "bytes"),
    "s": (Decimal(1), "time"), "min": (Decimal(60), "time"), "h": (Decimal(3600), "time"),
    "d": (Decimal(86400), "time"), "%": (Decimal("0.01"), "percent"), "": (Decimal(1), "plain"),
}
"""Unit → (factor, kind): plain counts, bytes, seconds, fractions."""

NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(.*)", re.DOTALL)
LARGEST_EXPONENT = 300
ESCAPES = {'"': '"', "\\": "\\", "n": "\n"}


class BadLiteral(ValueError):
    """`args`: the diagnostic's code, message and remedy."""

    def __init__(self, code: str, message: str, fix: str):
        super().__init__(code, message, fix)
        self.code, self.message, self.fix = code, message, fix


def number(text: str) -> tuple[int | float, str]:
    """`20k` → (20000, "plain"); `5%` → (0.05, "percent"). Whole values with a unit and plain digits are ints.

    Raises: BadLiteral for an unknown unit or a value outside double precision.
    """
    digits, unit = NUMBER.fullmatch(text).groups()
    if unit not in UNITS:
        raise BadLiteral("RL203", f"`{unit}` is no unit", _unit_remedy(text, digits, unit))
    factor, kind = UNITS[unit]
    value = Decimal(digits)
    if len(digits) > LARGEST_EXPONENT or (value and abs(value.adjusted()) > LARGEST_EXPONENT):
        raise BadLiteral("RL204", "this number is beyond what double precision can hold", "write a smaller one")
    if kind == "plain" and not unit:
        return (int(digits), kind) if digits.isdigit() else (float(digits), kind)
    value *= factor
    return (int(value) if kind != "percent" and value == value.to_integral_value() else float(value)), kind


def string(text: str) -> str:
    """The value of a quoted literal, `"…"` or `\"""…\"""`.

    Raises: BadLiteral for an escape other than `\\"`, `\\\\` and `\\n`.
    """
    width = 3 if text.startswith('"""') else 1
    return re.sub(r"\\(.)", _unescape, text[width:-width].replace("\r\n", "\n"), flags=re.DOTALL)


def _unescape(match: re.Match) -> str:
    if match[1] not in ESCAPES:
        shown = match[0] if match[0].isprintable() else "\\"
        raise BadLiteral("RL101", f"`{shown}` is no escape in a string",
                         r'escapes are `\"`, `\\` and `\n`; a backslash itself is written `\\`')
    return ESCAPES[match[1]]


def _unit_remedy(text: str, digits: str, unit: str) -> str:
    near = [known for known in UNITS if known and known.lower() == unit.lower()]
    if near:
        return f"write `{digits}{near[0]}`"
    known = ", ".join(f"`{u}`" for u in UNITS if u)
    return f"units are {known}; a name that begins with a digit is a string: `\"{text}\"`"
