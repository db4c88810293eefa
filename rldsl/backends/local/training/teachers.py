"""Frozen teachers: which of them scores a response, and what they say of its tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from torch import Tensor

from rldsl.algebra.divergence import named
from rldsl.backends.local.decoder.layout import Layout
from rldsl.backends.local.decoder.model import Policy, Weights
from rldsl.runtime.trajectory import SamplingOptions, Trajectory

from .divergence import Sides, token_divergence
from .logprob import rows_of

Model = TypeVar("Model")


@dataclass(frozen=True)
class Teachers(Generic[Model]):
    """`of` says which of `models` scores the responses to a row of the data; None: all of them, averaged."""

    models: tuple[Model, ...]
    of: Callable[[int], int] | None = None

    def shares(self, rows: Sequence[Trajectory]) -> Iterator[tuple[Model, list[int], float]]:
        """Each teacher with the positions of the rows that it scores and the weight of what it says; together the
        weights of a row are 1."""
        if self.of is None:
            yield from ((model, list(range(len(rows))), 1 / len(self.models)) for model in self.models)
            return
        whose = [self.of(row.row) for row in rows]
        for index, model in enumerate(self.models):
            if index in whose:
                yield model, [i for i, k in enumerate(whose) if k == index], 1.0


def weighted(teachers: Teachers[Model], rows: Sequence[Trajectory],
             measure: Callable[[Model, list[Trajectory], Tensor], Tensor], device: torch.device) -> Tensor:
    """Σ_k weight_k · measure_k over all action tokens of `rows`; `measure` gets a teacher, the rows that it scores and
    the flat positions of their tokens."""
    starts = torch.tensor([0, *(len(r.tokens) for r in rows)]).cumsum(0).tolist()
    total = torch.zeros(starts[-1], device=device)
    for model, mine, weight in teachers.shares(rows):
        tokens = torch.tensor([t for i in mine for t in range(starts[i], starts[i + 1])], device=device)
        total = total.index_add(0, tokens, weight * measure(model, [rows[i] for i in mine], tokens))
    return total


def divergences(teachers: Teachers[Policy], names: Sequence[str], rows: Sequence[Trajectory], hidden: Tensor,
                weights: Weights, layout: Layout, options: SamplingOptions,
                states: Callable[[Policy, list[Trajectory]], Tensor]) -> dict[str, Tensor]:
    """{name: the divergence from the teachers at each action token, float32}.

    `hidden` [N, D] are the policy's states at the action tokens of `rows`; `states` gives a teacher's on some rows.
    """
    known: dict[int, Tensor] = {}

    def measure(name: str) -> Callable[[Policy, list[Trajectory], Tensor], Tensor]:
        def one(model: Policy, mine: list[Trajectory], tokens: Tensor) -> Tensor:
            if id(model) not in known:
                with torch.no_grad():
                    known[id(model)] = states(model, mine)
            sides = Sides(hidden[tokens], weights.head, known[id(model)], model.weights().head)
            return token_divergence(sides, layout.targets[tokens], options, named(name),
                                    rows_of(layout.candidates, tokens))
        return one

    return {name: weighted(teachers, rows, measure(name), hidden.device) for name in names}
