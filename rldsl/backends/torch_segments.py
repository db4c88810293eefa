"""Reductions and scans over the units of a ragged batch, without a Python loop over tokens.

Sums do not depend on the order of rows: where a unit holds several responses its members are added in the order of
their values, so that permuting a batch leaves every statistic bit-equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rldsl.algebra.evaluate import ROUNDING


@dataclass(frozen=True)
class Segments:
    """Which unit each member lies in. `index` [members] long; `counts` [units] float64.

    `in_order` says that a unit's members always stand together in one order, as the tokens of a response do.
    """

    index: Tensor
    counts: Tensor
    units: int
    in_order: bool

    @staticmethod
    def of(index: Tensor, units: int, in_order: bool) -> Segments:
        """Segments from a member → unit map."""
        return Segments(index, torch.bincount(index, minlength=units).to(torch.float64), units, in_order)

    def sum(self, x: Tensor) -> Tensor:
        """Sum of each unit, the same for every order of its members. [members] → [units]."""
        if not self.units or not len(x):
            return torch.zeros_like(self.counts)
        if not self.in_order:
            order = torch.argsort(x, stable=True)
            x = x[order[torch.argsort(self.index[order], stable=True)]]
        return torch.segment_reduce(x.contiguous(), "sum", lengths=self.counts.to(torch.long), initial=0)

    def extreme(self, x: Tensor, op: str) -> Tensor:
        """Largest ("amax") or smallest ("amin") member of each unit, 0 for an empty one."""
        out = torch.zeros(self.units, dtype=x.dtype, device=x.device)
        return out.scatter_reduce(0, self.index, x, op, include_self=False)

    def mean(self, x: Tensor) -> Tensor:
        """Mean of each unit: exact where all its members are equal, 0 for an empty one."""
        low, high = self.extreme(x, "amin"), self.extreme(x, "amax")
        return torch.where(low == high, low, self.sum(x) / self.counts.clamp(min=1))

    def std(self, x: Tensor, fewer: int) -> Tensor:
        """Standard deviation in two passes, dividing by n − fewer; a spread that is rounding noise counts as 0."""
        low, high = self.extreme(x, "amin"), self.extreme(x, "amax")
        none = (self.counts <= fewer) | (high - low <= ROUNDING * torch.maximum(low.abs(), high.abs()))
        squares = self.sum((x - self.mean(x)[self.index]) ** 2)
        return torch.where(none, 0.0, torch.sqrt(squares / (self.counts - fewer).clamp(min=1)))

    def reduce(self, op: str, x: Tensor) -> Tensor:
        """The algebra's reduction `op`. [members] → [units]."""
        match op:
            case "sum":
                return self.sum(x)
            case "mean":
                return self.mean(x)
            case "count":
                return self.counts
            case "max" | "min":
                return self.extreme(x, "amax" if op == "max" else "amin")
        return self.std(x, int(op == "std_sample"))

    def order(self, op: str, x: Tensor) -> Tensor:
        """Per member, how many of its unit are larger (`above`) or the sum of those not larger (`upto`)."""
        if not len(x):
            return x
        by_value = torch.argsort(x, stable=True)
        place = by_value[torch.argsort(self.index[by_value], stable=True)]
        ordered, unit = x[place], self.index[place]
        starts = torch.ones_like(unit, dtype=torch.bool)
        starts[1:] = (ordered[1:] != ordered[:-1]) | (unit[1:] != unit[:-1])
        run = starts.cumsum(0) - 1
        run_end = torch.bincount(run).cumsum(0)[run]  # one past the last member with this value
        unit_end = self.counts.to(torch.long).cumsum(0)[unit]
        if op == "above":
            found = (unit_end - run_end).to(x.dtype)
        else:
            sums = torch.cat([x.new_zeros(1), ordered.cumsum(0)])
            found = sums[run_end] - sums[unit_end - self.counts.to(torch.long)[unit]]
        return torch.empty_like(x).index_copy_(0, place, found)

    def pull(self, op: str, x: Tensor, value: Tensor, g: Tensor) -> Tensor:
        """d(Σ g·reduce)/dx. `value` and `g` are [units], the result [members]."""
        own = g[self.index]
        match op:
            case "sum":
                return own
            case "mean":
                return own / self.counts[self.index]
            case "max" | "min":
                best = (x == value[self.index]).to(torch.float64)
                return own * best / self.sum(best).clamp(min=1)[self.index]
        s, n = value[self.index], (self.counts - int(op == "std_sample"))[self.index]
        return torch.where(s == 0, 0.0, own * (x - self.mean(x)[self.index]) / (n * s))


def scan(x: Tensor, link: Tensor) -> Tensor:
    """`y_t = x_t + link_t · y_{t+1}` by doubling: log₂ n passes. A link of 0 ends a unit, whatever stands beyond."""
    step, n = 1, len(x)
    while step < n and bool((link != 0).any()):
        beyond, chain = torch.zeros_like(x), torch.zeros_like(link)
        beyond[:-step], chain[:-step] = x[step:], link[step:]
        x = torch.where(link == 0, x, x + link * beyond)
        link = torch.where(link == 0, 0.0, link * chain)
        step *= 2
    return x
