"""`rldsl run --address` joins a cluster that is up, and leaves it up."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from rldsl.backends.cluster.ray_session import ray_session
from rldsl.runtime.errors import RunError

from . import runs

AUTH = "RAY_AUTH_MODE"


@pytest.fixture(scope="module", autouse=True)
def unguarded():
    """Whoever reaches the cluster's port may join it: it listens on this machine only, and for a minute."""
    before = os.environ.get(AUTH)
    os.environ[AUTH] = "disabled"
    yield
    os.environ.pop(AUTH)
    os.environ |= {AUTH: before} if before else {}


@pytest.fixture(scope="module")
def head():
    """A Ray cluster of three CPUs on this machine: its address."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", f"--port={port}",
               "--num-cpus=3", "--include-dashboard=false", "--disable-usage-stats", "--node-ip-address=127.0.0.1"]
    inner = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                             env={**os.environ, "PYTHONPATH": str(runs.ROOT)})
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.2)
    yield f"127.0.0.1:{port}"
    inner.send_signal(signal.SIGTERM)
    inner.wait(30)


def test_a_run_joins_and_leaves(head, tmp_path):
    run = tmp_path / "run"
    done = runs.Process(tmp_path, "run", runs.recipe(tmp_path, steps=2, warm=20), "--address", head, "--out", str(run))
    assert done.wait() == 0, done.said()
    assert runs.steps(run) == [1, 2]
    file = runs.recipe(tmp_path, steps=2, warm=20, system="sync on disaggregated(rollout: 2, train: 3)")
    wide = runs.Process(tmp_path, "run", file, "--address", head, "--out", str(tmp_path / "wide"))
    assert wide.wait() == 3
    assert "RL606" in wide.said() and "= 5 CPU is more than the cluster has: 3 CPU" in wide.said()


@pytest.mark.parametrize("address, says", [("127.0.0.1:1", "refused"), ("nowhere", "HOST:PORT"), (":99999999", "")])
def test_an_address_where_nothing_is(address, says):
    with pytest.raises(RunError, match="RL606") as caught, ray_session(address, 1):
        pass
    assert address in caught.value.diagnostic.message and says in caught.value.diagnostic.why
