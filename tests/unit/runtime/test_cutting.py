"""A response without what its group began with keeps the candidates of its own tokens."""

from __future__ import annotations

import pytest

from rldsl.runtime.cutting import own
from rldsl.runtime.trajectory import Prefix, Trajectory

SETS = ((1,), (2, 9), (3,), (4, 7))


@pytest.mark.parametrize("recorded, left", [(SETS, SETS[2:]), (SETS[2:], SETS[2:]), ((), ())])
def test_candidates_of_what_stays(recorded, left):
    """Another model's beginning has none, and nobody may have asked."""
    whole = Trajectory(0, 0, 0, (8,), (1, 2, 3, 4), (-1.0,) * 4, (0,) * 4, "stop", "", candidates=recorded)
    found = own(whole, {0: Prefix((1, 2), (-1.0,) * 2, (0,) * 2)})
    assert (found.prompt, found.tokens, found.candidates) == ((8, 1, 2), (3, 4), left)
