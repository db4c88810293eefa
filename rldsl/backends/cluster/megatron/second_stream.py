"""Texts that belong to no response: pretraining data, whose pieces go through the ranks behind the update's own.

What a term makes of them depends on the mean log-likelihood of all of them, which a pass without gradient finds first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps
from torch import Tensor

from rldsl.algebra.evaluate import Value
from rldsl.algebra.expr import UPDATE
from rldsl.algebra.variables import PRETRAIN
from rldsl.backends.local.training.optimizer import require_finite
from rldsl.backends.local.training.second_stream import PLAIN
from rldsl.backends.local.training.terms import Terms
from rldsl.backends.torch_math import TorchMath
from rldsl.runtime.batch import Batch
from rldsl.runtime.errors import RunError
from rldsl.runtime.protocols import Cutting
from rldsl.runtime.tally import Tally
from rldsl.runtime.trajectory import Trajectory

from .logprob import token_statistics
from .passes import Held, Trouble, Work, run, shard, together, vocabulary


@dataclass(frozen=True)
class Behind:
    """All rows of an update and behind them its texts, with the pieces of both in this order; `slope` is ∂J/∂ℓ of every
    token of a text."""

    rows: Sequence[Trajectory]
    work: Work
    slope: float = 0.0


def behind(held: Held, terms: Terms, math: TorchMath, rows: Sequence[Trajectory], work: Work,
           texts: Sequence[Trajectory], cutting: Cutting, update: Batch, trouble: Trouble, tally: Tally) -> Behind:
    """The texts put behind the rows of an update; where no term reads any, the rows alone. What the terms are worth
    goes into the tally of the first shard."""
    if not terms.once:
        return Behind(rows, work)
    own = shard(held, texts, cutting)
    found = run(held, own, texts, lambda index, states: (
        states.sum() * 0, log_likelihoods(held, own, index, states).double().sum()), grad=False)
    pieces = tuple((*mine, *(tuple(len(rows) + i for i in piece) for piece in theirs))
                   for mine, theirs in zip(work.every, own.every, strict=True))
    every = [*rows, *texts]
    slope = 0.0
    if ps.is_pipeline_last_stage():
        total = torch.stack(found).sum()
        dist.all_reduce(total, group=ps.get_data_parallel_group())
        first = ps.get_data_parallel_rank() == 0
        slope = _slope(terms, math, float(total) / len(texts), update, trouble, tally if first else Tally())
    return Behind(every, together(held, every, pieces), slope / len(texts))


def log_likelihoods(held: Held, work: Work, index: int, states: Tensor) -> Tensor:
    """log π_θ of every token of the texts in a piece but each one's first, float32, at temperature 1."""
    packed = work.packs[index]
    return token_statistics(
        states.index_select(0, packed.read), held.trunk.head, packed.targets, vocabulary(held.shape), PLAIN,
        wide=held.wide, reduced=not held.trunk.config.sequence_parallel).logp


def _slope(terms: Terms, math: TorchMath, mean: float, update: Batch, trouble: Trouble, tally: Tally) -> float:
    """∂J/∂mean, over all terms that read it."""
    batch = update.with_columns(**{PRETRAIN.name: Value(UPDATE, math.column([mean]))})
    tally.add(PRETRAIN.name, mean)
    slope = 0.0
    for part in terms.once:
        value, slopes = math.both(part.expr, batch.columns, batch.shape)
        try:
            require_finite([(f"the {part.name} term", value.data)], [1], ["pretraining texts"], "objective")
        except RunError as error:
            trouble.meet(error)
        tally.add(f"objective/{part.name}", float(value.data.sum()), 0)
        slope += float(slopes[PRETRAIN.name].sum())
    return slope
