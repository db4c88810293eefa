"""The optimizer step: gradients checked, bounded and applied to float32 masters, or nothing at all."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from rldsl.diagnostics import Diagnostic
from rldsl.runtime.errors import RunError


@dataclass(frozen=True)
class OptimizerSpec:
    """A torch optimizer by dotted name "pkg.mod:Class" with its arguments, and a bound on the gradient norm."""

    target: str
    arguments: Mapping[str, Any]
    clip_grad: float | None


class Stepper:
    """An optimizer over the parameters of one model that want a gradient."""

    def __init__(self, model: nn.Module, spec: OptimizerSpec):
        self.model, self.spec = model, spec
        self.trained = [p for p in model.parameters() if p.requires_grad]
        self.begin()

    def begin(self) -> None:
        """A new optimizer, without any memory of earlier steps."""
        spec = self.spec
        module, _, name = spec.target.partition(":")
        cls = getattr(importlib.import_module(module), name)
        fused = {"fused": True} if "fused" in inspect.signature(cls).parameters else {}
        self.optimizer: torch.optim.Optimizer = cls(self.trained, **spec.arguments, **fused)

    def clear(self) -> None:
        """Forget all gradients."""
        self.optimizer.zero_grad(set_to_none=True)

    def step(self, lr_factor: float, stage: str) -> float:
        """One step with the gradients there are; where none reached a parameter it is an explicit zero.

        Gives the gradient norm before clipping. RunError RL601 where a gradient is not finite: no parameter and
        no moment has changed then.
        """
        for p in self.trained:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
        norm = nn.utils.get_total_norm([p.grad for p in self.trained])
        if not bool(norm.isfinite()):
            raise self._not_finite(stage)
        if self.spec.clip_grad is not None:
            nn.utils.clip_grads_with_norm_(self.trained, self.spec.clip_grad, norm)
        for group in self.optimizer.param_groups:
            group["lr"] = self.spec.arguments["lr"] * lr_factor
        self.optimizer.step()
        return float(norm)

    def _not_finite(self, stage: str) -> RunError:
        bad = [name for name, p in self.model.named_parameters()
               if p.requires_grad and not bool(p.grad.isfinite().all())]
        return RunError(Diagnostic(
            "RL601", f"the gradient of {bad[0] if bad else 'all parameters together'} is not finite ({stage})",
            why=f"{len(bad)} parameters have NaN or infinite gradients; no optimizer step was taken",
            fix="lower the learning rate, or bound the ratio and the regularisers"))


def require_finite(tensors: Iterable[tuple[str, Tensor]], lengths: list[int], names: list[str], stage: str) -> None:
    """RunError RL601 for the first flat token column that is not finite, naming the rows it happened in."""
    for name, column in tensors:
        bad = ~column.isfinite()
        if bool(bad.any()):
            owner = [names[i] for i, n in enumerate(lengths) for _ in range(n)]
            rows = list(dict.fromkeys(owner[t] for t in bad.nonzero().flatten().tolist()))
            raise RunError(Diagnostic(
                "RL601", f"{name} is not finite in {len(rows)} of {len(lengths)} responses (stage: {stage})",
                why=f"responses {', '.join(rows[:8])}{', …' if len(rows) > 8 else ''}; no optimizer step was taken",
                fix="look at these responses in the journal; a learning rate that is too high is the usual cause"))
