"""Weights and optimizer states on disk: one file a rank for resuming, or Megatron's own form for another layout."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from rldsl.diagnostics import Diagnostic
from rldsl.runtime.errors import RunError

from .layout import Parallel
from .optimizer import Stepper
from .passes import Trouble


def save(folder: Path, trained: Mapping[str, Stepper], parallel: Parallel, rank: int) -> None:
    """Writes this rank's part of every trained model, one file each."""
    for name, stepper in trained.items():
        torch.save({"parallel": asdict(parallel), "model": stepper.ddp.module.state_dict(),
                    "masters": [p.detach() for p in stepper.masters()],
                    "optimizers": [each.optimizer.state_dict() for each in _torch(stepper)]}, _file(folder, name, rank))
    dist.barrier()


def load(folder: Path, trained: Mapping[str, Stepper], parallel: Parallel, rank: int) -> None:
    """Restores every trained model. RunError RL609 on all ranks, where one cannot, with nothing half restored."""
    trouble, found = Trouble(), {}
    try:
        for name in trained:
            found[name] = _read(_file(folder, name, rank), parallel)
    except RunError as error:
        trouble.meet(error)
    trouble.agree()
    for name, stepper in trained.items():
        _restore(stepper, found[name])
    dist.barrier()


def _read(file: Path, parallel: Parallel) -> dict[str, Any]:
    try:
        found = torch.load(file, map_location=torch.cuda.current_device(), weights_only=True)
        written = Parallel(**found["parallel"])
    except (OSError, RuntimeError, LookupError, TypeError, ValueError, EOFError, pickle.UnpicklingError) as error:
        raise _unfit(file, f"{type(error).__name__}: {error}") from error
    if written != parallel:
        raise _unfit(file, f"it was written by the layout {_told(written)}; this run has {_told(parallel)}")
    return found


@torch.no_grad()
def _restore(stepper: Stepper, found: Mapping[str, Any]) -> None:
    stepper.ddp.module.load_state_dict(found["model"])
    for own, saved in zip(stepper.masters(), found["masters"], strict=True):
        own.copy_(saved)
    for each, state in zip(_torch(stepper), found["optimizers"], strict=True):
        each.optimizer.load_state_dict(state)


def _torch(stepper: Stepper) -> list[Any]:
    """Megatron's optimizers that move a parameter of this rank."""
    return [each for each in stepper.optimizer.chained_optimizers if each.optimizer is not None]


def _file(folder: Path, name: str, rank: int) -> Path:
    return folder / f"{name}.rank-{rank:04d}.pt"


def _told(p: Parallel) -> str:
    return f"tensor {p.tensor} × pipeline {p.pipeline} × data {p.data}, expert {p.expert}"


def _unfit(where: Path, why: str) -> RunError:
    return RunError(Diagnostic("RL609", f"{where} cannot be restored", why=why,
                               fix="resume with the recipe, model, release and layout that wrote this checkpoint"))
