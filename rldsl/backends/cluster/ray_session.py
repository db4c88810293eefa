"""Ray for the length of a run: started here, or joined where a cluster is already up."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.runtime.errors import RunError

OBJECT_STORE = 1 << 30
"""Bytes of a local object store: several copies of a small model's weights."""
ANSWER_SECONDS = 5.0
"""How long a cluster's port may take to answer."""


@contextmanager
def ray_session(address: str | None, processes: int) -> Iterator[None]:
    """Connects to the cluster at `address`, or starts one here that lets `processes` run at a time.

    RecipeError RL407 where Ray is not installed, RunError RL606 where no cluster answers at `address` or none starts.
    """
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    try:
        import ray
    except ImportError:
        raise missing_extra("ray") from None
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    with warnings.catch_warnings(), _own_handlers():
        warnings.simplefilter("ignore")
        _silence()
        if address is None:
            _start(processes, quiet)
        else:
            _join(address, quiet)
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def _own_handlers() -> Iterator[None]:
    """Puts signal handlers back: Ray's print a stack and end the process without its being able to say so. While Ray
    starts, its handler of SIGTERM leaves with the signal's number; KeyboardInterrupt is raised instead."""
    here = threading.current_thread() is threading.main_thread()
    before = {s: signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGINT)} if here else {}
    try:
        yield
    except SystemExit:
        raise KeyboardInterrupt from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _silence() -> None:
    """Ray writes its daemon's remarks about dead processes to standard output, whatever it is told; that is ours."""
    from ray._private import worker

    worker.print_to_stdstream = lambda *_, **__: None


def _start(processes: int, quiet: dict) -> None:
    import ray

    try:
        ray.init("local", num_cpus=max(processes, os.cpu_count() or 1), include_dashboard=False,
                 object_store_memory=OBJECT_STORE, **quiet)
    except Exception as error:  # where a node does not come up in time, Ray raises just that
        raise RunError(Diagnostic(
            "RL606", "Ray does not start on this machine", why=_first_line(error),
            fix="where the machine is busy or short of memory, try again when it is not; "
                "the logs are in Ray's session folder")) from None


def _join(address: str, quiet: dict) -> None:
    import ray

    _require_answer(address)
    search = {"env_vars": {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[3]),
                                                         os.environ.get("PYTHONPATH", "")])}}
    try:
        ray.init(address=address, runtime_env=search, **quiet)
    except Exception as error:  # as above
        raise _nobody(address, _first_line(error)) from None


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _require_answer(address: str) -> None:
    """RunError RL606 where nothing listens at HOST:PORT: Ray itself would try for minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        raise _nobody(address, "an address is HOST:PORT")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _nobody(address, str(error)) from None


def _nobody(address: str, why: str) -> RunError:
    return RunError(Diagnostic(
        "RL606", f"no Ray cluster answers at {address}", why=why,
        fix="give the address that `ray start --head` printed, or leave --address out to start one here"))


def missing_extra(package: str) -> RecipeError:
    """RL407: the cluster backend needs its optional dependencies."""
    return RecipeError([Diagnostic(
        "RL407", f"Running on a cluster needs the package {package}, which is not installed.",
        fix='Install it with: pip install "rldsl[cluster]", or "rldsl[cluster-cpu]" on a machine without GPUs.')])
