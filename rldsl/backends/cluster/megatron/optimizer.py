"""The optimizer step over all ranks: gradients checked, bounded and applied to float32 masters, or nothing at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.distributed as dist
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.optimizer.clip_grads import clip_grad_by_total_norm_fp32
from torch import Tensor

from rldsl.backends.local.training.optimizer import OptimizerSpec
from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.runtime.errors import RunError

from .model import Trunk

OPTIMIZERS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "torch.optim:AdamW": lambda a: {
        "optimizer": "adam", "adam_beta1": a["betas"][0], "adam_beta2": a["betas"][1], "adam_eps": a["eps"],
        "use_distributed_optimizer": True},
    "torch.optim:SGD": lambda a: {"optimizer": "sgd", "sgd_momentum": a["momentum"]},
}
"""What Megatron offers of torch's optimizers, with its names for their arguments."""


def refuse(spec: OptimizerSpec) -> None:
    """RecipeError RL406 for an optimizer that Megatron has not."""
    if spec.target not in OPTIMIZERS:
        raise RecipeError([Diagnostic(
            "RL406", f"the cluster backend has no optimizer {spec.target}",
            why=f"Megatron-core's own optimizers are {', '.join(OPTIMIZERS)}",
            fix="choose one of these, or the local backend")])


class Stepper:
    """A model that is trained, with its gradient buffers and its optimizer's state, spread over data-parallel ranks."""

    def __init__(self, trunk: Trunk, spec: OptimizerSpec):
        refuse(spec)
        self.spec = spec
        own = OPTIMIZERS[spec.target](spec.arguments)
        spread = own.get("use_distributed_optimizer", False)
        trunk.config.finalize_model_grads_func = _summed
        self.ddp = DistributedDataParallel(trunk.config, DistributedDataParallelConfig(
            grad_reduce_in_fp32=True, use_distributed_optimizer=spread), trunk)
        half = trunk.config.params_dtype == torch.bfloat16
        self.optimizer = get_megatron_optimizer(OptimizerConfig(
            lr=spec.arguments["lr"], weight_decay=spec.arguments["weight_decay"], bf16=half,
            params_dtype=trunk.config.params_dtype, clip_grad=0.0, **own), [self.ddp], config_overrides={},
            use_gloo_process_groups=torch.cuda.is_available())

    def begin(self) -> None:
        """The optimizer without any memory of earlier steps."""
        for each in self.optimizer.chained_optimizers:
            each.optimizer.state.clear()
            for group in each.optimizer.param_groups:
                group.pop("step", None)

    def clear(self) -> None:
        """Forget all gradients: they are explicit zeros."""
        self.ddp.zero_grad_buffer()
        self.optimizer.zero_grad()

    def step(self, lr_factor: float, stage: str) -> float:
        """One step with the gradients that a pass has left; the norm before clipping.

        RunError RL601 on all ranks where a gradient is not finite: no parameter and no moment has changed then.
        """
        self.optimizer.prepare_grads()
        norm = float(self.optimizer.get_grad_norm())
        if not math.isfinite(norm):
            raise self._not_finite(stage)
        for each in self.optimizer.chained_optimizers:
            parameters = each.get_parameters()
            if self.spec.clip_grad is not None and parameters:
                clip_grad_by_total_norm_fp32(parameters, self.spec.clip_grad, norm)
        for group in self.optimizer.param_groups:
            group["lr"] = self.spec.arguments["lr"] * lr_factor
        self.optimizer.step_with_ready_grads()
        return norm

    def masters(self) -> list[Tensor]:
        """The float32 parameters that the optimizer of this rank moves."""
        return [p for each in self.optimizer.chained_optimizers for p in each.get_parameters()]

    def _not_finite(self, stage: str) -> RunError:
        own = [name for name, p in self.ddp.module.named_parameters()
               if p.requires_grad and not bool(p.main_grad.isfinite().all())]
        said: list[list[str]] = [[]] * dist.get_world_size()
        dist.all_gather_object(said, own)
        bad = list(dict.fromkeys(name for names in said for name in names))
        return RunError(Diagnostic(
            "RL601", f"the gradient of {bad[0] if bad else 'all parameters together'} is not finite ({stage})",
            why=f"{len(bad)} parameters have NaN or infinite gradients; no optimizer step was taken",
            fix="lower the learning rate, or bound the ratio and the regularisers"))


def _summed(model: list[Any], num_tokens: Tensor | None = None, **groups: Any) -> None:
    """Megatron's own reduction over ranks, without its division by tokens: our weights hold every denominator."""
    finalize_model_grads(model, None, **groups)
