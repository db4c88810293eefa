"""A policy learns under each named schedule, with a critic, and with ranks that share a model out."""

from __future__ import annotations

import pytest

from .learn import CASES, MARGIN, SHORT, learnt


@pytest.mark.parametrize("name", SHORT)
def test_it_learns(name, tmp_path):
    found = learnt(CASES[name], tmp_path)
    assert found.last > found.first + MARGIN, found
    assert not found.differ, "a replay of the journal decides otherwise"
