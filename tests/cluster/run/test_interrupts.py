"""A run that is ended while its processes are still coming up."""

from __future__ import annotations

import signal
import time

import pytest

from . import runs

RAY, ENGINE = "/", "ray::RolloutActor"
"""How the titles of the first processes begin: Ray's daemons are called by their whole paths."""


@pytest.mark.parametrize("number, coming_up", [(signal.SIGINT, ENGINE), (signal.SIGTERM, RAY)])
def test_a_run_that_is_ended_while_its_processes_start_leaves_nothing(tmp_path, number, coming_up):
    """A shell has its jobs in the background ignore Ctrl-C, and what they start inherits that. Ray's own handler of
    SIGTERM, while it starts, would end the run without a word."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    going = runs.Process(tmp_path, "run", runs.recipe(tmp_path, steps=1, warm=0), "--out", str(tmp_path / "run"))
    until = time.monotonic() + 120
    while not going.processes(coming_up) and time.monotonic() < until:
        assert going.inner.poll() is None, going.said()
        time.sleep(0.05)
    going.inner.send_signal(number)
    assert going.wait(60) == 3, going.said()
    assert "interrupted" in going.said() and "Traceback" not in going.said()
    assert going.gone(seconds=30), going.processes()
