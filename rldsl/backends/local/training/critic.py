"""The critic's step: regression of V on its target, every token of the update weighing the same."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rldsl.algebra.variables import VALUE
from rldsl.runtime.protocols import UpdateJob
from rldsl.runtime.tally import Tally

from .forward import Critic, values
from .optimizer import Stepper, require_finite
from .pieces import cut, shared_out

TARGET = "value_target"


@dataclass(frozen=True)
class CriticTrainer:
    """A critic with its own optimizer; it takes `steps` steps for each of the policy's."""

    critic: Critic
    stepper: Stepper
    steps: int


def critic_step(trainer: CriticTrainer, job: UpdateJob) -> Tally:
    """½(V − target)², the mean over all tokens of the update; RunError RL601 where a number is not finite."""
    tally = Tally()
    positions = cut(job.rows, job.options.cutting)
    columns = {name: shared_out(job.batch.columns[name].data, positions, job.batch.lengths)
               for name in (TARGET, VALUE.name) if name in job.batch.columns}
    tokens = sum(job.batch.lengths)
    for _ in range(trainer.steps):
        trainer.stepper.clear()
        for index, piece in enumerate(positions):
            rows = [job.rows[i] for i in piece]
            v = values(trainer.critic, rows, grad=True, share_prompts=job.options.cutting.share_prompts)
            require_finite([("V", v)], [len(r.tokens) for r in rows], [f"{r.group}.{r.sibling}" for r in rows],
                           "critic forward")
            recorded = columns[VALUE.name][index] if VALUE.name in columns else None
            loss = value_loss(v, columns[TARGET][index], recorded, job.value_clip)
            (loss.sum() / tokens).backward()
            tally.add("critic/value_loss", float(loss.detach().sum()), len(loss))
        tally.add("critic/grad_norm", trainer.stepper.step(job.lr_factor, "critic backward"))
    return tally


def value_loss(v: Tensor, target: Tensor, recorded: Tensor | None, bound: float | None) -> Tensor:
    """½(V − target)² per token; with a bound, the larger of that and the loss of V held near the recorded value.

    Source: the value clipping of PPO's reference code (baselines, ppo2), as in arXiv:2005.12729, section 3.
    """
    target = target.to(v.dtype)
    plain = (v - target) ** 2
    if bound is None or recorded is None:
        return plain / 2
    recorded = recorded.to(v.dtype)
    held = recorded + (v - recorded).clamp(-bound, bound)
    return torch.maximum(plain, (held - target) ** 2) / 2
