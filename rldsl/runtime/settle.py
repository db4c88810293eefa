"""What is fixed once per batch, and once per update, before any gradient: rewards, filters, advantages, d, w."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rldsl.algebra.evaluate import Value
from rldsl.algebra.expr import RESPONSE, TOKEN, UPDATE
from rldsl.compiler.objective import Named, Objective

from .batch import Batch


@dataclass(frozen=True)
class Settled:
    """A batch ready to be cut into updates, and who left it, by which choice."""

    batch: Batch
    statistics: Batch
    left: dict[str, int]


def rewards(objective: Objective, batch: Batch) -> Batch:
    """Adds the columns `reward` and `token_reward`; needs `scores` (and what the shaping reads)."""
    batch = batch.with_columns(reward=batch.value(objective.reward, RESPONSE))
    return batch.with_columns(token_reward=batch.value(objective.token_reward, TOKEN))


def settle(objective: Objective, batch: Batch) -> Settled:
    """Rewards, filters, advantages and corrections over the whole batch.

    Responses without a score must have left before. Order: lag control and statistics filters, advantages over
    those who stay, then the filters that only leave the loss.
    """
    left: dict[str, int] = {}
    batch = drop(rewards(objective, batch), objective.leaves_first, left)
    columns = {"advantage": batch.value(objective.advantage, TOKEN)}
    if objective.value_target is not None:
        columns["value_target"] = batch.value(objective.value_target, TOKEN)
    batch = batch.with_columns(**columns)
    fixed = {"correction": batch.value(objective.correction, TOKEN)}
    if objective.counted is not None:
        fixed["counted"] = batch.value(objective.counted, TOKEN)
    statistics = batch.with_columns(**fixed)
    return Settled(drop(statistics, objective.leaves_later, left), statistics, left)


def weigh(objective: Objective, update: Batch) -> Batch:
    """Adds the column `weight`: token weights over one whole update."""
    return update.with_columns(weight=update.value(objective.weight, TOKEN))


def with_state(objective: Objective, batch: Batch, carried: Mapping[str, Mapping[str, float]]) -> Batch:
    """The batch with what choices carry to it as columns; what is not in `carried` has its first value."""
    return batch.with_columns(**{c.variable: Value(UPDATE, batch.math.column([
        carried.get(c.choice, {}).get(c.name, c.initial)])) for c in objective.state})


def carry(objective: Objective, statistics: Batch, *, late: bool = False) -> dict[str, dict[str, float]]:
    """{choice: {name: number}} of what is carried to the next batch; `statistics` as `settle` gives it. What is `late`
    is read off the trained batch."""
    out: dict[str, dict[str, float]] = {}
    for c in objective.state:
        if c.late != late:
            continue
        out.setdefault(c.choice, {})[c.name] = statistics.math.numbers(statistics.value(c.next, UPDATE).data)[0]
    return out


def merged(*carried: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """The numbers of several `carry`s together, the later ones deciding."""
    out: dict[str, dict[str, float]] = {}
    for each in carried:
        for choice, numbers in each.items():
            out.setdefault(choice, {}).update(numbers)
    return out


def drop(batch: Batch, filters: Sequence[Named], left: dict[str, int]) -> Batch:
    """The batch without the responses that a filter sends away; `left` counts them by choice."""
    for each in filters:
        stays = batch.math.numbers(batch.value(each.expr, RESPONSE).data)
        keep = [i for i, s in enumerate(stays) if s]
        left[each.name] = left.get(each.name, 0) + len(stays) - len(keep)
        if len(keep) < len(stays):
            batch = batch.select(keep)
    return batch
