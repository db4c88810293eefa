"""What the processes of a cluster hold of their machines' memory, by role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rldsl.runtime.usage import HELD, MEGABYTE

SECONDS = 0.5
"""How long the processes may take to say so; one that is busy for longer is left out."""


def held(actors: Mapping[str, Sequence[Any]]) -> dict[str, float]:
    """{metric: megabytes of the largest process} of each role whose actors answer. A death is for others to tell."""
    import ray
    from ray.exceptions import RayError

    asked = {actor.resident.remote(): role for role, those in actors.items() for actor in those}
    come, _ = ray.wait(list(asked), num_returns=len(asked), timeout=SECONDS)
    found: dict[str, float] = {}
    for ref in come:
        name = HELD + asked[ref]
        try:
            found[name] = max(found.get(name, 0.0), ray.get(ref) / MEGABYTE)
        except RayError:
            continue
    return found
