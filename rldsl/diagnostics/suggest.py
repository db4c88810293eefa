"""Which known names somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable

CUTOFF = 0.6
FEW = 40
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


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """A remedy that names the nearest candidates, or all of them where none is near and they are few."""
    every = tuple(candidates)
    near = closest(name, every)
    if near:
        return "did you mean " + " or ".join(f"`{n}`" for n in near) + "?"
    return f"one of {', '.join(every)}" if 0 < len(every) <= FEW else ""


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")
