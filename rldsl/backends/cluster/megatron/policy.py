"""The policy's gradient over ranks: J = Σ w·d·policy + Σ w·regulariser over one whole update, in any layout.

Coefficients ∂J/∂ℓ come as explicit columns from the algebra, as in the local backend; Megatron's backward pass only
multiplies them in, and sums over micro-batches and ranks give the gradient of the whole. A term that looks beyond one
response gets them from one pass without gradient, whose ℓ all data-parallel ranks share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps
from torch import Tensor

from rldsl.algebra.divergence import is_divergence
from rldsl.backends.local.training.coefficients import coefficients, live_rows
from rldsl.backends.local.training.pieces import joined, shared_out
from rldsl.backends.local.training.terms import Terms, with_constants
from rldsl.backends.torch_math import TorchMath
from rldsl.runtime.batch import Batch
from rldsl.runtime.errors import RunError
from rldsl.runtime.protocols import Cutting, UpdateJob
from rldsl.runtime.tally import Tally
from rldsl.runtime.trajectory import SamplingOptions, Trajectory

from .beside import Beside, Heard, divergences, heard
from .logprob import token_statistics
from .optimizer import Stepper
from .passes import Held, Trouble, Work, run, shard, vocabulary
from .second_stream import behind, log_likelihoods


@dataclass(frozen=True)
class PolicyTrainer:
    """Everything a policy step needs that does not change from step to step. A policy that stays as it is has no
    `stepper` and takes none."""

    held: Held
    stepper: Stepper | None
    terms: Terms
    sampling: SamplingOptions
    math: TorchMath


def measure(held: Held, rows: Sequence[Trajectory], wants: Sequence[str], sampling: SamplingOptions, cutting: Cutting,
            beside: Beside) -> tuple[list[int], dict[str, Tensor]]:
    """(positions of this rank's rows, the wanted quantities over their tokens), on the last stage; no columns else."""
    work = shard(held, rows, cutting)
    told = heard(beside, wants, rows, work)

    def after(index: int, states: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        return states.sum() * 0, quantities(held, work, index, states, wants, sampling, told)

    return positions(work), concatenated(run(held, work, rows, after, grad=False))


def positions(work: Work) -> list[int]:
    """This rank's rows, piece by piece."""
    return [i for piece in work.pieces for i in piece]


def concatenated(parts: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Columns of pieces one after another."""
    return {name: torch.cat([p[name] for p in parts]) for name in parts[0]} if parts else {}


def quantities(held: Held, work: Work, index: int, states: Tensor, wants: Sequence[str], sampling: SamplingOptions,
               told: Heard) -> dict[str, Tensor]:
    """What the terms read of a policy, float32 over the action tokens of one piece."""
    packed, compared = work.packs[index], None
    hidden = states.index_select(0, packed.read)
    if told.reference is not None:
        compared = told.reference.states[index], told.reference.held.trunk.head
    found = token_statistics(
        hidden, held.trunk.head, packed.targets, vocabulary(held.shape), sampling, candidates=packed.candidates,
        wide=held.wide, entropy="entropy" in wants, reference=compared, squares="squares" in wants,
        reduced=not held.trunk.config.sequence_parallel)
    named = {"logp_current": found.logp, "entropy": found.entropy, "kl_exact": found.kl, "squares": found.squares}
    named |= divergences(told.teachers, [*filter(is_divergence, wants)], held, work, index, hidden, sampling)
    return {name: named[name] for name in wants}


def policy_step(trainer: PolicyTrainer, job: UpdateJob, beside: Beside) -> Tally:
    """One optimizer step on one update; RunError RL601 before it, on all ranks, where a number is not finite.

    The tally holds what this rank has seen of its shard, once for each shard.
    """
    update = with_constants(trainer.terms, job.batch)
    live = live_rows(update) if job.options.skip_zero_rows else list(range(len(job.rows)))
    update = update.select(live) if len(live) < len(job.rows) else update
    rows = [job.rows[i] for i in live]
    work = shard(trainer.held, rows, job.options.cutting)
    told = heard(beside, job.options.wants, rows, work)
    trouble, tally = Trouble(), Tally()
    whole = trainer.terms.whole and rows and (len(work.pieces) > 1 or ps.get_data_parallel_world_size() > 1)
    known = _whole(trainer, job, update, rows, work, told, trouble, tally) if whole else None
    both = behind(trainer.held, trainer.terms, trainer.math, rows, work, job.pretrain, job.options.cutting, update,
                  trouble, tally)

    def after(index: int, states: Tensor) -> tuple[Tensor, None]:
        if index >= len(work.pieces):
            return -both.slope * log_likelihoods(trainer.held, both.work, index, states).sum() + states.sum() * 0, None
        found = quantities(trainer.held, both.work, index, states, job.options.wants, trainer.sampling, told)
        if known is not None:
            slopes = known[index]
        else:
            own = work.pieces[index]
            slopes = _slopes(trainer, [rows[i] for i in own], update.select(own), found, trouble, tally)
        loss = sum(-(slopes[n].to(q.dtype) * q).sum() for n, q in found.items() if n in slopes)
        return loss + states.sum() * 0, None  # a piece without rows takes part with a gradient of zero

    trainer.stepper.clear()
    run(trainer.held, both.work, both.rows, after, grad=True)
    trouble.agree()
    norm = trainer.stepper.step(job.lr_factor, "policy backward")
    if ps.get_data_parallel_rank() == 0:
        tally.add("rows_computed", len(rows))
        tally.add("grad_norm", norm)
        for part in trainer.terms.parts:
            tally.add(f"objective/{part.name}", 0.0)
    return tally


def _slopes(trainer: PolicyTrainer, rows: list[Trajectory], batch: Batch, found: dict[str, Tensor], trouble: Trouble,
            tally: Tally) -> dict[str, Tensor]:
    if not rows:
        return {}
    try:
        return coefficients(trainer.terms, trainer.math, rows, batch, found, tally)
    except RunError as error:
        trouble.meet(error)
        return {}


def _whole(trainer: PolicyTrainer, job: UpdateJob, update: Batch, rows: list[Trajectory], work: Work, told: Heard,
           trouble: Trouble, tally: Tally) -> list[dict[str, Tensor]]:
    """Coefficients over the whole update for each piece of this rank, on the last stage: first ℓ of every row without
    gradient, then what all data-parallel ranks have found put together, the same on each."""
    def after(index: int, states: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        return states.sum() * 0, quantities(trainer.held, work, index, states, job.options.wants, trainer.sampling,
                                            told)

    found = run(trainer.held, work, rows, after, grad=False)
    if not ps.is_pipeline_last_stage():
        return []
    everything: list = [None] * ps.get_data_parallel_world_size()
    dist.all_gather_object(everything, (work.pieces, [{n: q.cpu() for n, q in f.items()} for f in found]),
                           group=ps.get_data_parallel_group())
    pieces = [piece for each, _ in everything for piece in each]
    lengths = update.lengths
    column = {name: joined([f[name] for _, parts in everything for f in parts], pieces, lengths).to(
        trainer.math.device) for name in job.options.wants}
    slopes = _slopes(trainer, rows, update, column, trouble, tally if ps.get_data_parallel_rank() == 0 else Tally())
    split = {name: shared_out(c, pieces, lengths) for name, c in slopes.items()}
    first = ps.get_data_parallel_rank() * len(work.pieces)
    return [{name: parts[first + k] for name, parts in split.items()} for k in range(len(work.pieces))]
