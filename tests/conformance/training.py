"""Every choice in one update of a tiny model: the same rows, cut and spread in any way."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch

from rldsl.algebra.divergence import is_divergence
from rldsl.algebra.evaluate import Value
from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.local.load import load_policy
from rldsl.backends.local.training.coefficients import coefficients
from rldsl.backends.local.training.forward import forward
from rldsl.backends.local.training.optimizer import OptimizerSpec, Stepper
from rldsl.backends.local.training.pieces import shared_out
from rldsl.backends.local.training.policy import PolicyTrainer, _backward, policy_step
from rldsl.backends.local.training.second_stream import second_stream
from rldsl.backends.local.training.teachers import Teachers
from rldsl.backends.local.training.terms import prepare, with_constants
from rldsl.backends.torch_math import TorchMath
from rldsl.compiler.lower import CURRENT, in_update
from rldsl.compiler.objective import Objective
from rldsl.runtime.batch import Batch
from rldsl.runtime.probe import _columns
from rldsl.runtime.protocols import Cutting, UpdateJob, UpdateOptions
from rldsl.runtime.settle import settle, weigh
from rldsl.runtime.tally import Tally
from rldsl.runtime.trajectory import SamplingOptions, Trajectory

from .harness import batch_file, random_batch

SAMPLING = SamplingOptions(1.0, 6)
SGD = OptimizerSpec("torch.optim:SGD", {"lr": 1.0}, None)
VOCABULARY, LIKELY = 97, -4.57
"""Ids of the toy tokenizer, and about the log-prob that a fresh model gives to each of them."""


@dataclass(frozen=True)
class Update:
    """One update of an objective, ready to be trained."""

    objective: Objective
    rows: Sequence[Trajectory]
    batch: Batch

    def wants(self) -> tuple[str, ...]:
        """What the forward has to give."""
        read = in_update(self.objective)
        compared = sorted(filter(is_divergence, read))
        return (*(name for name in CURRENT if name == CURRENT[0] or name in read), *compared)

    def job(self, cutting: Cutting, skip: bool) -> UpdateJob:
        """One step on it, with three texts of a second stream of data."""
        options = UpdateOptions(self.wants(), cutting, True, skip)
        return UpdateJob(self.rows, self.batch, options, 0.0, True, False, pretrain=trajectories((2, 3, 4), (0, 1, 2)))


def update_of(objective: Objective, seed: int = 3) -> Update:
    """Eight responses with every recorded quantity near what the model says, scored at random."""
    shift = LIKELY + 1.5  # the random batch has its log-probs around -1.5
    recorded = ("logp_old", "logp_rollout", "logp_ref", "logp_teacher")
    responses = [r | {name: [x + shift for x in r[name]] for name in recorded} for r in random_batch(seed)]
    plain = _columns(objective, batch_file(objective, responses), "BATCH.json")
    math = TorchMath()
    columns = {n: Value(v.grain, math.column(v.data)) for n, v in plain.columns.items()}
    full = Batch.of(plain.lengths, plain.groups, columns, math, **plain.extra)
    batch = weigh(objective, settle(objective, full).batch)
    rows = trajectories(plain.lengths, plain.groups)
    return Update(objective, [rows[i] for i in batch.rows], batch)


def trajectories(lengths: Sequence[int], groups: Sequence[int]) -> list[Trajectory]:
    """Random tokens; the members of a group share their prompt."""
    draw = random.Random(9)
    prompts = {g: tuple(draw.randrange(1, VOCABULARY) for _ in range(2 + g)) for g in groups}
    return [Trajectory(g, i, g, prompts[g], tuple(draw.randrange(1, VOCABULARY) for _ in range(n)), (0.0,) * n,
                       (0,) * n, "stop", "") for i, (n, g) in enumerate(zip(lengths, groups, strict=True))]


@cache
def models() -> tuple[Policy, Policy]:
    """The policy and its frozen reference, the same in every process; nothing here ever steps."""
    (policy, _), (reference, _) = (load_policy("toy:llama-1x16", "float32", seed, device="cpu") for seed in (3, 4))
    return policy, reference.requires_grad_(False)


def whole(made: Update, cutting: Cutting, skip: bool = False) -> torch.Tensor:
    """The gradient of one step of the embedded engine, as one column."""
    policy, reference = models()
    trainer = PolicyTrainer(policy, Stepper(policy, SGD), prepare(made.objective), SAMPLING, made.batch.math,
                            Teachers((reference,)))
    policy_step(trainer, made.job(cutting, skip), reference)
    return flat(policy)


def flat(policy: Policy) -> torch.Tensor:
    """All gradients as one column; a parameter that nothing reached has zeros."""
    grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in policy.parameters()]
    return torch.cat([g.flatten() for g in grads])


def on_ranks(made: Update, ranks: Sequence[Sequence[int]], own: int) -> torch.Tensor:
    """The part of one data-parallel rank: the positions `ranks[own]` are its rows, and all ranks have to call this.

    Constants are those of the whole update. Where a term looks beyond a response, the ranks tell one another what
    their forwards gave, and each takes the coefficients of its own rows from the whole.
    """
    policy, reference = models()
    terms = prepare(made.objective)
    teachers = Teachers((reference,))
    trainer = PolicyTrainer(policy, Stepper(policy, SGD), terms, SAMPLING, made.batch.math, teachers)
    trainer.stepper.clear()
    update = with_constants(terms, made.batch)
    mine = [made.rows[i] for i in ranks[own]]
    found = forward(policy, mine, frozenset(made.wants()), SAMPLING, grad=True, reference=reference,
                    teachers=teachers)
    if terms.whole:
        column = {name: gathered(x.detach(), ranks, update.lengths) for name, x in found.items()}
        slopes = coefficients(terms, made.batch.math, made.rows, update, column, Tally())
        slopes = {name: shared_out(c, ranks, update.lengths)[own] for name, c in slopes.items()}
    else:
        slopes = coefficients(terms, made.batch.math, mine, update.select(ranks[own]), found, Tally())
    if mine:
        _backward(found, slopes)
    for part in terms.once if own == 0 else ():
        second_stream(trainer.policy, trainer.math, part, made.job(Cutting(None, False, True), False), update, Tally())
    return flat(policy)


def gathered(own: torch.Tensor, ranks: Sequence[Sequence[int]], lengths: Sequence[int]) -> torch.Tensor:
    """A flat column over the rows of one rank as the column over all rows, in their order."""
    parts: list = [None] * len(ranks)
    torch.distributed.all_gather_object(parts, own)
    slots: list[torch.Tensor] = [own] * len(lengths)
    for part, rank in zip(parts, ranks, strict=True):
        for index, tokens in zip(rank, part.split([lengths[i] for i in rank]), strict=True):
            slots[index] = tokens
    return torch.cat(slots)


