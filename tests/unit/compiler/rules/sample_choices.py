"""Choices as an installed package would bring them, for what the shipped vocabulary cannot say yet."""

from __future__ import annotations

import pytest

from rldsl.axes import discover

MODULES = {("system", "free_running"): "tests.unit.compiler.rules.free_running",
           ("distribution", "uncorrected"): "tests.unit.compiler.rules.uncorrected",
           ("reduction", "per_segment"): "tests.unit.compiler.rules.per_segment"}


@pytest.fixture
def sample_choices(monkeypatch):
    """Installs the sample choices for one test."""
    monkeypatch.setattr(discover, "_plugins", lambda: MODULES)
