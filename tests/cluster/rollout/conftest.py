"""A Ray session and engines in it, started once for all tests of the folder that ask for them."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="package")
def cluster():
    """Ray, with room for a few engines."""
    from rldsl.backends.cluster.ray_session import ray_session

    with ray_session(None, 6):
        yield
