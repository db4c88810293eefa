"""An update on its way to the ranks: its numbers as arrays, since a batch holds the arithmetic of its own process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from rldsl.algebra.evaluate import Value
from rldsl.backends.torch_math import TorchMath
from rldsl.runtime.batch import Batch
from rldsl.runtime.protocols import UpdateJob, UpdateOptions
from rldsl.runtime.trajectory import Trajectory


@dataclass(frozen=True)
class Parcel:
    """An `UpdateJob` without its rows, its texts included. `columns` are {name: (grain, float64 numbers)}."""

    lengths: tuple[int, ...]
    groups: tuple[int, ...]
    positions: tuple[int, ...]
    columns: Mapping[str, tuple[str, np.ndarray]]
    extra: Mapping[str, Any]
    options: UpdateOptions
    lr_factor: float
    policy: bool
    critic: bool
    value_clip: float | None
    pretrain: tuple[Trajectory, ...] = ()


def packed(job: UpdateJob) -> Parcel:
    """What is sent of a job beside its rows."""
    batch = job.batch
    columns = {name: (v.grain, torch.as_tensor(v.data, dtype=torch.float64).cpu().numpy())
               for name, v in batch.columns.items()}
    return Parcel(batch.lengths, batch.groups, batch.rows, columns, dict(batch.extra), job.options, job.lr_factor,
                  job.policy, job.critic, job.value_clip, tuple(job.pretrain))


def unpacked(parcel: Parcel, rows: Sequence[Trajectory], math: TorchMath) -> UpdateJob:
    """The job, with its columns on the device of `math`."""
    columns = {name: Value(grain, math.column(numbers.copy())) for name, (grain, numbers) in parcel.columns.items()}
    batch = Batch.of(parcel.lengths, parcel.groups, columns, math, parcel.positions, **parcel.extra)
    return UpdateJob(rows, batch, parcel.options, parcel.lr_factor, parcel.policy, parcel.critic, parcel.value_clip,
                     parcel.pretrain)
