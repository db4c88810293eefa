"""Journal values in the shapes that MLflow takes: flat names, allowed characters, limited lengths."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

LONGEST_VALUE = 500
LONGEST_NAME = 250
PARAMS_PER_CALL = 100
METRICS_PER_CALL = 1000
WORDS = {None: "none", True: "true", False: "false"}
FORBIDDEN = re.compile(r"[^\w\-. :/]", re.ASCII)

Item = TypeVar("Item")


def flat(values: Mapping[str, Any]) -> dict[str, str]:
    """Nested mappings and lists as {"gate.high": "0.28", "feedback.0.name": …}, in the recipe's own words."""
    return {name: value for key, inner in values.items() for name, value in _leaves(str(key), inner)}


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, (Mapping, list, tuple)) and value:
        for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _leaves(f"{name}.{key}", inner)
    else:
        yield name, WORDS[value] if value is None or isinstance(value, bool) else str(value)


def short(value: str, limit: int = LONGEST_VALUE) -> str:
    """`value` within `limit` characters: a longer one is cut and ends in a digest of the whole, so that
    different values stay different."""
    if len(value) <= limit:
        return value
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{value[:limit - 20]}…#{digest}"


def name_of(name: str) -> str:
    """A name of the characters and length that MLflow allows."""
    return short(FORBIDDEN.sub("_", name), LONGEST_NAME).replace("…#", "_")


def chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """`items` in pieces of at most `size`."""
    return (items[start:start + size] for start in range(0, len(items), size))
