"""A real `mlflow server`, started once, that can be killed and started again at the same address."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from mlflow import MlflowClient

PATIENCE = 120.0
ENVIRONMENT = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}


class Server:
    """SQLite and a folder of artifacts behind HTTP, in `folder`."""

    def __init__(self, folder: Path):
        self.folder, self.process = folder, None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.uri = f"http://127.0.0.1:{self.port}"

    @property
    def client(self) -> MlflowClient:
        return MlflowClient(self.uri)

    def start(self) -> None:
        command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(self.port),
                   "--workers", "1", "--backend-store-uri", f"sqlite:///{self.folder / 'server.db'}",
                   "--artifacts-destination", str(self.folder / "artifacts")]
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            env={**os.environ, **ENVIRONMENT}, cwd=self.folder, start_new_session=True)
        until(self.answers, "the server to answer")

    def answers(self) -> bool:
        assert self.process.poll() is None, (self.folder / "server.log").read_text()
        with contextlib.suppress(OSError):
            return urllib.request.urlopen(f"{self.uri}/health", timeout=2.0).status == 200
        return False

    def kill(self) -> None:
        """All of its processes at once, as a machine that goes down."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def until(holds, what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.1)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    found = Server(tmp_path_factory.mktemp("server"))
    found.start()
    yield found
    found.kill()
