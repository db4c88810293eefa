"""The policy's gradient: J = Σ w·d·policy + Σ w·regulariser over one whole update, in any split.

Coefficients ∂J/∂ℓ come as explicit columns from the algebra; the model's own backward pass only multiplies them in.
A term that looks beyond one response gets them from one pass without gradient over the whole update first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.torch_math import TorchMath
from rldsl.runtime.batch import Batch
from rldsl.runtime.protocols import UpdateJob, UpdateOptions
from rldsl.runtime.tally import Tally
from rldsl.runtime.trajectory import SamplingOptions, Trajectory

from .coefficients import coefficients, live_rows
from .forward import forward
from .optimizer import Stepper
from .pieces import cut, joined, shared_out
from .second_stream import second_stream
from .teachers import Teachers
from .terms import Terms, with_constants


@dataclass(frozen=True)
class PolicyTrainer:
    """Everything a policy step needs that does not change from step to step."""

    policy: Policy
    stepper: Stepper
    terms: Terms
    sampling: SamplingOptions
    math: TorchMath
    teachers: Teachers | None = None


@dataclass(frozen=True)
class _Piece:
    rows: list[Trajectory]
    batch: Batch


def policy_step(trainer: PolicyTrainer, job: UpdateJob, reference: Policy | None) -> Tally:
    """One optimizer step on one update. RunError RL601 before it where a number is not finite."""
    update = with_constants(trainer.terms, job.batch)
    live = live_rows(update) if job.options.skip_zero_rows else list(range(len(job.rows)))
    if len(live) < len(job.rows):
        update = update.select(live)
    rows = [job.rows[i] for i in live]
    positions = cut(rows, job.options.cutting)
    pieces = [_Piece([rows[i] for i in p], update if len(positions) == 1 else update.select(p)) for p in positions]
    trainer.stepper.clear()
    tally = Tally()
    tally.add("rows_computed", len(rows))
    if trainer.terms.whole and len(pieces) > 1:
        _whole(trainer, job, reference, _Piece(rows, update), pieces, positions, tally)
    else:
        for piece in pieces:
            found = _quantities(trainer, piece.rows, job.options, reference, grad=True)
            _backward(found, coefficients(trainer.terms, trainer.math, piece.rows, piece.batch, found, tally))
    for part in trainer.terms.once:
        second_stream(trainer.policy, trainer.math, part, job, update, tally)
    for part in trainer.terms.parts:
        tally.add(f"objective/{part.name}", 0.0)
    tally.add("grad_norm", trainer.stepper.step(job.lr_factor, "policy backward"))
    return tally


def _whole(trainer: PolicyTrainer, job: UpdateJob, reference: Policy | None, all_rows: _Piece,
           pieces: Sequence[_Piece], positions: Sequence[Sequence[int]], tally: Tally) -> None:
    """First ℓ of every row without gradient, then coefficients over the whole update, then each piece's backward."""
    measured = [_quantities(trainer, p.rows, job.options, reference, grad=False) for p in pieces]
    lengths = all_rows.batch.lengths
    column = {name: joined([m[name] for m in measured], positions, lengths) for name in job.options.wants}
    slopes = coefficients(trainer.terms, trainer.math, all_rows.rows, all_rows.batch, column, tally)
    split = {name: shared_out(c, positions, lengths) for name, c in slopes.items()}
    for index, piece in enumerate(pieces):
        found = _quantities(trainer, piece.rows, job.options, reference, grad=True)
        _backward(found, {name: parts[index] for name, parts in split.items()})


def _quantities(trainer: PolicyTrainer, rows: list[Trajectory], options: UpdateOptions, reference: Policy | None,
                grad: bool) -> dict[str, Tensor]:
    """What the terms read of the current policy, float32 over the action tokens of one piece."""
    passes = [options.wants] if options.one_forward else [(want,) for want in options.wants]
    found: dict[str, Tensor] = {}
    for wants in passes:
        found |= forward(trainer.policy, rows, frozenset(wants), trainer.sampling, grad=grad, reference=reference,
                         teachers=trainer.teachers, share_prompts=options.cutting.share_prompts)
    return found


def _backward(found: dict[str, Tensor], slopes: dict[str, Tensor]) -> None:
    """Adds −Σ c·quantity to the gradients: the optimizer minimises."""
    names = [name for name in found if name in slopes]
    torch.autograd.backward([found[n] for n in names], [-slopes[n].to(found[n].dtype) for n in names])
