"""A term over texts that belong to no response: pretraining data, read beside the update's own rows."""

from __future__ import annotations

import torch
from torch import Tensor

from rldsl.algebra.evaluate import Value
from rldsl.algebra.expr import UPDATE
from rldsl.algebra.variables import LOGP, PRETRAIN
from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.torch_math import TorchMath
from rldsl.compiler.objective import Named
from rldsl.runtime.batch import Batch
from rldsl.runtime.protocols import UpdateJob
from rldsl.runtime.tally import Tally
from rldsl.runtime.trajectory import SamplingOptions, Trajectory

from .forward import forward
from .optimizer import require_finite
from .pieces import cut

PLAIN = SamplingOptions(1.0, 1)
"""Temperature 1: no sampling has a say in what a text is."""


def second_stream(policy: Policy, math: TorchMath, part: Named, job: UpdateJob, update: Batch, tally: Tally) -> None:
    """Adds the gradient of one term: the texts' mean log-likelihood first, then its slope into each piece of them."""
    pieces = [[job.pretrain[i] for i in positions] for positions in cut(job.pretrain, job.options.cutting)]
    with torch.no_grad():
        mean = sum(float(_texts(policy, rows, job).double().sum()) for rows in pieces) / len(job.pretrain)
    batch = update.with_columns(**{PRETRAIN.name: Value(UPDATE, math.column([mean]))})
    value, slopes = math.both(part.expr, batch.columns, batch.shape)
    require_finite([(f"the {part.name} term", value.data)], [1], ["pretraining texts"], "objective")
    tally.add(f"objective/{part.name}", float(value.data.sum()), 0)
    tally.add(PRETRAIN.name, mean)
    slope = float(slopes[PRETRAIN.name].sum()) / len(job.pretrain)
    for rows in pieces:
        (-slope * _texts(policy, rows, job).sum()).backward()


def _texts(policy: Policy, rows: list[Trajectory], job: UpdateJob) -> Tensor:
    """log π_θ of every token of the texts but each one's first."""
    return forward(policy, rows, frozenset({LOGP.name}), PLAIN, grad=torch.is_grad_enabled(),
                   share_prompts=job.options.cutting.share_prompts)[LOGP.name]
