"""System metrics: what they say, and how seldom."""

from __future__ import annotations

import pytest

from rldsl.runtime import usage
from rldsl.runtime.executor import execute
from rldsl.runtime.metrics import BY_NAME
from rldsl.runtime.usage import Usage, resident

from .fakes import events, plan_of, run_of


def test_the_machine_is_measured_over_the_time_since_the_last_measurement(tmp_path, monkeypatch) -> None:
    clock, spent = [100.0], [10.0]
    monkeypatch.setattr(usage.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(usage, "processor_seconds", lambda: spent[0])
    used = Usage(lambda: {"system/gpu_memory_megabytes": 5.0}, since=100.0, spent=10.0)
    clock[0] = 104.9
    assert used.measure(tmp_path) == {}
    clock[0], spent[0] = 110.0, 25.0
    found = used.measure(tmp_path)
    assert found["system/cpu_cores"] == pytest.approx(1.5) and found["system/gpu_memory_megabytes"] == 5.0
    assert found.keys() <= BY_NAME.keys() and all(BY_NAME[name].definition for name in found)
    clock[0] = 116.0
    assert used.measure(tmp_path)["system/cpu_cores"] == 0.0


def test_memory_is_that_of_this_process(monkeypatch, tmp_path) -> None:
    here = resident()
    assert 5e6 < here < 1e12
    monkeypatch.setattr(usage, "STATM", tmp_path / "none")
    assert 5e6 < resident() < 1e12


def test_a_run_records_them_apart_from_its_steps(tmp_path, monkeypatch) -> None:
    """So that two runs with the same numbers have the same steps, whatever the machine did meanwhile."""
    monkeypatch.setattr(usage, "SECONDS", 0.0)
    run = run_of(plan_of(tmp_path), tmp_path / "run", lambda r, s: "yes", steps=2)
    execute(run)
    assert [e.data["step"] for e in events(run, "system")] == [1, 2]
    assert not any(name.startswith("system/") for e in events(run, "step") for name in e.data["metrics"])


def test_memory_that_keeps_growing_is_warned_of_once() -> None:
    """C-077: by kind of process, the mean of the latest measurements against that of the first."""
    used, said = Usage(), []
    for i in range(3 * usage.WINDOW):
        said += used.grown({"system/memory_megabytes": 500.0 + i % 3, "memory/rollout": 100.0 + 4 * i,
                            "system/load": 2.0**i})
    assert [d.code for d in said] == ["RL615"] and "a rollout process has grown from 138 to" in said[0].message
    assert len(used.sizes["system/memory_megabytes"]) < 2 * usage.WINDOW
