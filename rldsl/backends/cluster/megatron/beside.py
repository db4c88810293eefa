"""Frozen models whose whole distributions the policy's are compared with, on the policy's own ranks.

Their states before each action token are computed once an update, without gradient; their logits, spread over the ranks
as the policy's, exist for a few rows at a time. A teacher computes the rows that it scores and no others.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rldsl.algebra.divergence import is_divergence, named
from rldsl.algebra.variables import KL_EXACT
from rldsl.backends.local.training.divergence import Sides
from rldsl.backends.local.training.teachers import Teachers
from rldsl.runtime.trajectory import SamplingOptions, Trajectory

from .divergence import token_divergence
from .logprob import rows_of
from .passes import Held, Work, restricted, run, vocabulary


@dataclass(frozen=True)
class Beside:
    """The models that a rank holds for comparison."""

    reference: Held | None = None
    teachers: Teachers[Held] | None = None


@dataclass(frozen=True)
class Said:
    """What one frozen model says of the pieces of a shard: `states` [n, D] before the action tokens at `tokens` [n] of
    each piece, and how much that counts. Nothing where this rank is not on the last stage."""

    held: Held
    weight: float
    tokens: Sequence[Tensor]
    states: Sequence[Tensor]


@dataclass(frozen=True)
class Heard:
    """What the models beside the policy say of a shard, as far as somebody wants to know."""

    reference: Said | None = None
    teachers: tuple[Said, ...] = ()


def heard(beside: Beside, wants: Collection[str], rows: Sequence[Trajectory], work: Work) -> Heard:
    """Has the frozen models that the wanted quantities read compute their states."""
    reference, teachers = None, ()
    if KL_EXACT.name in wants:
        reference = _said(beside.reference, 1.0, rows, work, range(len(rows)))
    if any(map(is_divergence, wants)):
        teachers = tuple(_said(held, weight, rows, work, mine) for held, mine, weight in beside.teachers.shares(rows))
    return Heard(reference, teachers)


def _said(held: Held, weight: float, rows: Sequence[Trajectory], work: Work, mine: Sequence[int]) -> Said:
    own = restricted(held, rows, work, set(mine))
    states = run(held, own, rows, lambda index, found: (
        found.sum() * 0, found.index_select(0, own.packs[index].read)), grad=False)
    return Said(held, weight, [_tokens(rows, piece, set(mine), own.packs[0].ids.device) for piece in work.pieces],
                states)


def _tokens(rows: Sequence[Trajectory], piece: Sequence[int], mine: Collection[int], device: torch.device) -> Tensor:
    """Flat positions, among the action tokens of a piece, of those of some rows."""
    owner = torch.tensor([i in mine for i in piece for _ in rows[i].tokens], dtype=torch.bool, device=device)
    return owner.nonzero().flatten()


def divergences(teachers: Sequence[Said], names: Sequence[str], held: Held, work: Work, index: int, hidden: Tensor,
                sampling: SamplingOptions) -> dict[str, Tensor]:
    """{name: the divergence from the teachers at each action token of one piece, float32}. `hidden` [N, D] are the
    policy's states there."""
    packed = work.packs[index]

    def measured(name: str) -> Tensor:
        total = torch.zeros(len(hidden), device=hidden.device)
        for said in teachers:
            mine = said.tokens[index]
            own = token_divergence(
                Sides(hidden[mine], held.trunk.head, said.states[index], said.held.trunk.head), packed.targets[mine],
                vocabulary(held.shape), sampling, named(name), candidates=rows_of(packed.candidates, mine),
                wide=held.wide, reduced=not held.trunk.config.sequence_parallel)
            total = total.index_add(0, mine, said.weight * own)
        return total

    return {name: measured(name) for name in names}
