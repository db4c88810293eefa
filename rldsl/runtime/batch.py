"""The flat, ragged batch: columns of numbers at a grain, and the layout that ties the grains together.

The same code runs on plain lists (probe) and on torch tensors (training): a `Math` evaluates expressions and
picks rows, and nothing else here knows what a column is made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from rldsl.algebra.evaluate import Value, evaluate, spread
from rldsl.algebra.expr import GROUP, PAIR, RESPONSE, SEGMENT, STEP, TOKEN, TURN, UPDATE, Expr
from rldsl.algebra.layout import Layout, layout


class Math(Protocol):
    """Arithmetic on columns."""

    def evaluate(self, e: Expr, env: Mapping[str, Value], shape: Layout) -> Value:
        """The value of an expression at its own grain."""

    def spread(self, value: Value, shape: Layout, to: str) -> Any:
        """A column broadcast to a finer grain."""

    def take(self, data: Any, index: Sequence[int]) -> Any:
        """The rows of a column at `index`."""

    def numbers(self, data: Any) -> list[float]:
        """A column as Python floats."""

    def column(self, numbers: Sequence[float]) -> Any:
        """A column from Python floats."""

    def join(self, columns: Sequence[Any]) -> Any:
        """Columns one after another."""


class PlainMath:
    """Python lists in float64."""

    def evaluate(self, e: Expr, env: Mapping[str, Value], shape: Layout) -> Value:
        """See `Math`."""
        return evaluate(e, {k: v.data for k, v in env.items()}, shape)

    def spread(self, value: Value, shape: Layout, to: str) -> list[float]:
        """See `Math`."""
        return spread(value, shape, to)

    def take(self, data: list[float], index: Sequence[int]) -> list[float]:
        """See `Math`."""
        return [data[i] for i in index]

    def numbers(self, data: list[float]) -> list[float]:
        """See `Math`."""
        return list(data)

    def column(self, numbers: Sequence[float]) -> list[float]:
        """See `Math`."""
        return list(numbers)

    def join(self, columns: Sequence[list[float]]) -> list[float]:
        """See `Math`."""
        return [x for column in columns for x in column]


@dataclass(frozen=True)
class Batch:
    """Responses with their columns. `groups` are labels minted by the sampler; `rows` are original positions."""

    lengths: tuple[int, ...]
    groups: tuple[int, ...]
    rows: tuple[int, ...]
    columns: Mapping[str, Value]
    math: Math
    shape: Layout
    extra: Mapping[str, Any]

    @staticmethod
    def of(lengths: Sequence[int], groups: Sequence[int], columns: Mapping[str, Value], math: Math,
           rows: Sequence[int] | None = None, **extra: Any) -> Batch:
        """A batch of responses; `extra` may hold `pairs`, `turns`, `steps`, `segments`, `states` for `layout`.

        The columns that follow from the shape alone (length, responses, tokens, last) are added here.
        """
        shape = layout(lengths, groups, **extra)
        last = [float(t == n - 1) for n in lengths for t in range(n)]
        columns = {**columns, "length": Value(RESPONSE, math.column([float(n) for n in lengths])),
                   "responses": Value(RESPONSE, math.column([1.0] * len(lengths))),
                   "tokens": Value(TOKEN, math.column([1.0] * len(last))),
                   "last": Value(TOKEN, math.column(last))}
        return Batch(tuple(lengths), tuple(groups), tuple(rows if rows is not None else range(len(lengths))),
                     columns, math, shape, extra)

    def value(self, e: Expr, to: str | None = None) -> Value:
        """An expression over this batch, optionally broadcast to a finer grain."""
        out = self.math.evaluate(e, self.columns, self.shape)
        return out if to is None else Value(to, self.math.spread(out, self.shape, to))

    def with_columns(self, **columns: Value) -> Batch:
        """The same responses with more columns."""
        return replace(self, columns={**self.columns, **columns})

    def select(self, keep: Sequence[int]) -> Batch:
        """Only the responses at positions `keep`, in that order; every column follows."""
        positions = self._positions(keep)
        columns = {k: v if v.grain == UPDATE else Value(v.grain, self.math.take(v.data, positions(v.grain)))
                   for k, v in self.columns.items()}
        extra = {k: [v[i] for i in keep] for k, v in self.extra.items()}
        return Batch.of([self.lengths[i] for i in keep], [self.groups[i] for i in keep], columns, self.math,
                        [self.rows[i] for i in keep], **extra)

    def _positions(self, keep: Sequence[int]) -> Any:
        members: dict[str, list[int]] = {RESPONSE: list(keep)}

        def of(grain: str) -> list[int]:
            if grain not in members:
                members[grain] = (self._finer(grain, keep) if grain in (TOKEN, TURN, STEP, SEGMENT)
                                  else self._coarser(grain, keep))
            return members[grain]

        return of

    def _finer(self, grain: str, keep: Sequence[int]) -> list[int]:
        inside: list[list[int]] = [[] for _ in self.lengths]
        for unit, response in enumerate(self.shape.index(grain, RESPONSE)):
            inside[response].append(unit)
        return [unit for i in keep for unit in inside[i]]

    def _coarser(self, grain: str, keep: Sequence[int]) -> list[int]:
        assert grain in (GROUP, PAIR)
        index = self.shape.index(RESPONSE, grain)
        return list(dict.fromkeys(index[i] for i in keep))


def join(batches: Sequence[Batch], rows: Sequence[int]) -> Batch:
    """Batches with the same columns and different groups as one, with new original positions `rows`."""
    first = batches[0]
    columns = {k: v if v.grain == UPDATE else Value(v.grain, first.math.join([b.columns[k].data for b in batches]))
               for k, v in first.columns.items()}
    extra = {k: [x for b in batches for x in b.extra[k]] for k in first.extra}
    lengths, groups = [n for b in batches for n in b.lengths], [g for b in batches for g in b.groups]
    return Batch.of(lengths, groups, columns, first.math, rows, **extra)
