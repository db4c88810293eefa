"""The policy stays as it is: only a critic is trained, or responses are collected.

Differs from `sgd`: no gradient of the policy is computed and no step is taken.
Source: value pretraining, which fits the critic to a fixed policy before both are trained (VC-PPO, arXiv:2503.01491).
"""

from __future__ import annotations

from typing import Any

from rldsl.axes.base import Optimizer


class Frozen(Optimizer):
    def factory(self) -> tuple[str, dict[str, Any]]:
        return "torch.optim:SGD", {"lr": 0.0}

    def trains(self) -> bool:
        return False


EXAMPLES: list = []
