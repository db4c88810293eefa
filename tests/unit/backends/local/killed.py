"""A training process that kills itself at a chosen moment; run by test_kill."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import torch

from rldsl.backends.local import engine, launch
from rldsl.backends.local.training import optimizer as train_optimizer
from rldsl.compiler.plan import read_plan
from rldsl.runtime import checkpoint, journal
from rldsl.runtime.executor import execute


def train(folder: str, moment: str | None, count: int) -> None:
    """Starts or resumes the run in `folder` and writes its final fingerprints; dies at the count-th `moment`."""
    torch.set_num_threads(1)
    if moment is not None:
        MOMENTS[moment](count)
    resume = (Path(folder) / journal.FILE).exists()
    with launch.open_run(read_plan(Path(folder) / "plan.json"), Path(folder), Path(folder), lambda *_: None,
                         resume=resume) as run:
        execute(run)
        found = [engine.fingerprint(run.trainer.policy), engine.fingerprint(run.trainer._critic.critic)]
    (Path(folder) / "final.json").write_text(json.dumps(found))


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _before(owner: object, name: str, count: int) -> None:
    """Dies in the count-th call, before it does anything."""
    original, calls = getattr(owner, name), 0

    def counted(*args, **kwargs):
        nonlocal calls
        calls += 1
        if calls == count:
            _die()
        return original(*args, **kwargs)

    setattr(owner, name, counted)


def _in_journal(count: int) -> None:
    """Dies with half a line of the count-th event written."""
    original, calls = journal.Journal.append, 0

    def torn(self, kind, /, **data):
        nonlocal calls
        calls += 1
        if calls == count:
            self._file.write(b'{"seq": 99, "time": 1')
            self._file.flush()
            _die()
        return original(self, kind, **data)

    journal.Journal.append = torn


def _in_step(count: int) -> None:
    """Dies with the optimizer's step done and nothing else."""
    original, calls = train_optimizer.Stepper.step, 0

    def after(self, *args):
        nonlocal calls
        norm = original(self, *args)
        calls += 1
        if calls == count:
            _die()
        return norm

    train_optimizer.Stepper.step = after


MOMENTS: dict[str, Callable[[int], None]] = {
    "rollout": lambda n: _before(engine, "sample", n),
    "backward": lambda n: _before(torch.autograd, "backward", n),
    "optimizer": _in_step,
    "checkpoint files": lambda n: _before(torch, "save", n),
    "checkpoint manifest": lambda n: _before(checkpoint, "_described", n),
    "checkpoint rename": lambda n: _before(checkpoint.Path, "rename", n),
    "journal": _in_journal,
}
