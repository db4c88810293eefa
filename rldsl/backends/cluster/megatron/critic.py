"""The critic over ranks: values before each action token, and their regression on the targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from megatron.core import parallel_state as ps
from torch import Tensor

from rldsl.algebra.variables import VALUE
from rldsl.backends.local.training.critic import TARGET, value_loss
from rldsl.backends.local.training.optimizer import require_finite
from rldsl.runtime.errors import RunError
from rldsl.runtime.protocols import Cutting, UpdateJob
from rldsl.runtime.tally import Tally
from rldsl.runtime.trajectory import Trajectory

from .optimizer import Stepper
from .passes import Held, Trouble, Work, run, shard


@dataclass(frozen=True)
class CriticTrainer:
    """A critic with its own optimizer; it takes `steps` steps for each of the policy's."""

    held: Held
    stepper: Stepper
    steps: int


def values(held: Held, rows: Sequence[Trajectory], cutting: Cutting) -> tuple[list[int], dict[str, Tensor]]:
    """(positions of this rank's rows, {"values": V before each of their tokens}); no column before the last stage."""
    work = shard(held, rows, cutting)
    found = run(held, work, rows, lambda index, states: (states.sum() * 0, _values(held, work, index, states)),
                grad=False)
    return [i for piece in work.pieces for i in piece], {"values": torch.cat(found)} if found else {}


def _values(held: Held, work: Work, index: int, states: Tensor) -> Tensor:
    """Float32 [N]. Every tensor-parallel rank computes all of it."""
    states = states.index_select(0, work.packs[index].read).float()
    return (states @ held.trunk.head.float().t()).squeeze(1)


def critic_step(trainer: CriticTrainer, job: UpdateJob) -> Tally:
    """½(V − target)², the mean over all tokens of the update; RunError RL601 where a number is not finite."""
    tally, tokens = Tally(), sum(job.batch.lengths)
    work = shard(trainer.held, job.rows, job.options.cutting)
    for _ in range(trainer.steps):
        trouble = Trouble()

        def after(index: int, states: Tensor, trouble: Trouble = trouble) -> tuple[Tensor, None]:
            loss = _loss(trainer, job, work, index, _values(trainer.held, work, index, states), trouble)
            tally.add("critic/value_loss", float(loss.detach().sum()), len(loss))
            return loss.sum() / tokens + states.sum() * 0, None

        trainer.stepper.clear()
        run(trainer.held, work, job.rows, after, grad=True)
        trouble.agree()
        norm = trainer.stepper.step(job.lr_factor, "critic backward")
        if ps.get_data_parallel_rank() == 0:
            tally.add("critic/grad_norm", norm)
    return tally


def _loss(trainer: CriticTrainer, job: UpdateJob, work: Work, index: int, v: Tensor, trouble: Trouble) -> Tensor:
    """The loss of each token of one piece."""
    own = work.pieces[index]
    rows, part = [job.rows[i] for i in own], job.batch.select(own)
    try:
        require_finite([("V", v)], [len(r.tokens) for r in rows], [f"{r.group}.{r.sibling}" for r in rows],
                       "critic forward")
    except RunError as error:
        trouble.meet(error)
    recorded = part.columns[VALUE.name].data.to(v.device) if VALUE.name in part.columns else None
    return value_loss(v, part.columns[TARGET].data.to(v.device), recorded, job.value_clip)
