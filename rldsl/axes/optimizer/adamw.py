"""Adam with decoupled weight decay.

Differs from `sgd`: each parameter has its own step size from running moments.
Source: Loshchilov and Hutter (arXiv:1711.05101), algorithm 2.
"""

from __future__ import annotations

from typing import Annotated, Any

from rldsl.axes.base import Optimizer
from rldsl.axes.types import Bound, NonNegative, Positive


class Adamw(Optimizer):
    lr: Positive  # step size
    beta1: Annotated[float, Bound(ge=0, lt=1)] = 0.9  # decay of the first moment
    beta2: Annotated[float, Bound(ge=0, lt=1)] = 0.999  # decay of the second moment
    eps: Positive = 1e-8  # added to the root of the second moment
    weight_decay: NonNegative = 0.0  # per step, times lr

    def factory(self) -> tuple[str, dict[str, Any]]:
        return "torch.optim:AdamW", {"lr": self.lr, "betas": (self.beta1, self.beta2), "eps": self.eps,
                                     "weight_decay": self.weight_decay}

    def slots(self) -> int:
        return 2


EXAMPLES: list = []
