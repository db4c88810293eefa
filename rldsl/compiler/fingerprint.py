"""Fingerprints over the canonical recipe: what is learned, from what, and where it runs, each apart.

Comments, order, units, `let` and inheritance do not enter; names, documentation, `track`, `health` and `evidence`
neither: a run that no detector stopped is the same run without it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .canonical import canonical, key
from .recipe import Recipe

OBJECTIVE, DATA, PLACEMENT, SEED = "objective", "data", "placement", "seed"
BLOCKS = {"model": OBJECTIVE, "optim": OBJECTIVE, "critic": OBJECTIVE, "budget": OBJECTIVE, "feedback": OBJECTIVE,
          "data": DATA, "evaluate": DATA, "cluster": PLACEMENT}
"""Which fingerprint a block's settings move; blocks not named here move none."""


@dataclass(frozen=True)
class Fingerprints:
    """SHA-256 in hexadecimal. `experiment` (objective, data and seed) identifies a run for reuse."""

    objective: str
    data: str
    placement: str
    experiment: str


def moves(place: str, setting: str = "") -> str | None:
    """The fingerprint that an axis (or a part of one), a block's setting, or "seed" belongs to; None for none.

    `place` is a key of the canonical axes, or a block's name with its setting in `setting`.
    """
    if place == SEED:
        return SEED
    if not setting:
        return PLACEMENT if place == "placement" else OBJECTIVE
    return OBJECTIVE if (place, setting) == ("data", "template") else BLOCKS.get(place)


def parts(data: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Every axis and setting of a canonical recipe as (fingerprint, path, value); what moves none is left out."""
    for axis, value in data["axes"].items():
        yield moves(axis), axis, value
    for block, settings in data["settings"].items():
        for name, value in settings.items():
            target = moves(block, name)
            if target:
                yield target, f"{block}.{name}", value


def fingerprints(recipe: Recipe | Mapping[str, Any]) -> Fingerprints:
    """The fingerprints of a typed recipe, or of its canonical form."""
    data = canonical(recipe) if isinstance(recipe, Recipe) else recipe
    groups: dict[str, dict[str, Any]] = {OBJECTIVE: {}, DATA: {}, PLACEMENT: {}}
    for target, path, value in parts(data):
        groups[target][path] = value
    each = {name: _hash([data["format"], group]) for name, group in groups.items()}
    return Fingerprints(**each, experiment=_hash([each[OBJECTIVE], each[DATA], data["seed"]]))


def _hash(data: Any) -> str:
    return hashlib.sha256(key(data).encode()).hexdigest()
