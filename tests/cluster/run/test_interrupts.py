"""A run that is ended while its processes are still coming up."""

from __future__ import annotations

import signal
import time

from . import runs


def test_a_run_that_is_ended_while_engines_and_ranks_start_leaves_nothing(tmp_path):
    """A shell has its jobs in the background ignore Ctrl-C, and what they start inherits that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    going = runs.Process(tmp_path, "run", runs.recipe(tmp_path, steps=1, warm=0), "--out", str(tmp_path / "run"))
    until = time.monotonic() + 120
    while not going.processes("ray::RolloutActor") and time.monotonic() < until:
        assert going.inner.poll() is None, going.said()
        time.sleep(0.05)
    going.inner.send_signal(signal.SIGINT)
    assert going.wait(60) == 3, going.said()
    assert "interrupted" in going.said() and "Traceback" not in going.said()
    assert going.gone(seconds=30), going.processes()
