"""Which known names somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable

CUTOFF = 0.6
LONGEST = 80
"""Longer names are no typing slips, and comparing them takes time."""


def closest(name: str, candidates: Iterable[str], n: int = 3) -> list[str]:
    """Up to `n` candidates like `name`, nearest first. Case and `-` for `_` do not count."""
    from difflib import SequenceMatcher

    if len(name) > LONGEST:
        return []
    wanted = _plain(name)
    scored = []
    for candidate in set(candidates):
        known = _plain(candidate)
        matcher = SequenceMatcher(None, wanted, known)
        if matcher.real_quick_ratio() < CUTOFF and not known.startswith(wanted):
            continue
        score = 1.0 if known == wanted else matcher.ratio()
        if score >= CUTOFF or (len(wanted) >= 3 and known.startswith(wanted)):
            scored.append((-score, candidate))
    return [candidate for _, candidate in sorted(scored)[:n]]


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")
