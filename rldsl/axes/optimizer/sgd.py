"""Stochastic gradient descent with momentum.

Differs from `adamw`: one step size for all parameters, and no second moment to keep.
Source: Robbins and Monro (1951); momentum as in Sutskever et al. (2013).
"""

from __future__ import annotations

from typing import Annotated, Any

from rldsl.axes.base import Optimizer
from rldsl.axes.types import Bound, NonNegative, Positive


class Sgd(Optimizer):
    lr: Positive  # step size
    momentum: Annotated[float, Bound(ge=0, lt=1)] = 0.0  # share of the last step that goes on
    weight_decay: NonNegative = 0.0  # added to the gradient, times the weight

    def factory(self) -> tuple[str, dict[str, Any]]:
        return "torch.optim:SGD", {"lr": self.lr, "momentum": self.momentum, "weight_decay": self.weight_decay}

    def slots(self) -> int:
        return 1 if self.momentum else 0


EXAMPLES: list = []
