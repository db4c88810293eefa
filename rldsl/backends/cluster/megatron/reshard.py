"""Checkpoints in Megatron's distributed form, which another layout can read: weights, moments and steps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from megatron.core import dist_checkpointing, parallel_state
from megatron.core.optimizer.distrib_optimizer import DistributedOptimizer

from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.runtime.errors import RunError

from .optimizer import Stepper
from .passes import Trouble

FORM = {"distrib_optim_sharding_type": "fully_reshardable", "non_homogeneous_layers": True}
"""Each layer under its own number: not all of them need be trained."""


NOTHING = "no parameter"
"""In the place of a parameter, on a rank that moves none."""


def save_whole(folder: Path, trained: Mapping[str, Stepper]) -> None:
    """Writes every trained model into a folder of its name. Seconds, where `checkpoint` takes milliseconds:
    Megatron starts processes that write."""
    for name, stepper in trained.items():
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        dist.barrier()
        dist_checkpointing.save(_state(stepper, loading=False), str(place))
    dist.barrier()


def is_whole(folder: Path) -> bool:
    """Whether a checkpoint has this form."""
    return any(place.is_dir() for place in folder.glob("*"))


@torch.no_grad()
def load_whole(folder: Path, trained: Mapping[str, Stepper]) -> None:
    """Restores what any layout has saved. RunError RL609 on all ranks where a model is not there or has another
    shape."""
    for name, stepper in trained.items():
        trouble, found = Trouble(), None
        try:
            found = dist_checkpointing.load(_state(stepper, loading=True), str(folder / name))
        except (OSError, dist_checkpointing.core.CheckpointingException) as error:
            trouble.meet(RunError(Diagnostic(
                "RL609", f"{folder / name} cannot be restored", why=f"{type(error).__name__}: {error}".splitlines()[0],
                fix="resume with the recipe, model and release that wrote this checkpoint")))
        trouble.agree()
        stepper.ddp.module.load_state_dict(found["model"])
        every = stepper.optimizer.chained_optimizers
        states = [found["optimizer"]] if len(every) == 1 else [found["optimizer"][k] for k in range(len(every))]
        for each, state in zip(every, states, strict=True):
            _restore(each, state)
    dist.barrier()


def _restore(each: DistributedOptimizer, state: dict[str, Any]) -> None:
    """Megatron copies moments into every tensor of a parameter's state, and would miss torch's step among them; and it
    gives all parameters one tensor to count steps in, which each of them would advance."""
    state.pop("param_state_sharding_type")
    moments = state.pop("param_state", {})  # what is empty is not read
    each.load_state_dict(state)
    steps = {p: each.optimizer.state[p].pop("step") for p in each.get_parameters()}
    each.load_parameter_state_from_fully_reshardable(moments)
    for p, step in steps.items():
        each.optimizer.state[p]["step"] = step.clone()


def _state(stepper: Stepper, *, loading: bool) -> dict[str, Any]:
    _begun(stepper)
    metadata = {**FORM, "dp_cp_group": parallel_state.get_data_parallel_group(with_context_parallel=True)}
    model = stepper.ddp.module.sharded_state_dict(metadata=metadata)
    return {"model": model, "optimizer": stepper.optimizer.sharded_state_dict(model, is_loading=loading,
                                                                              metadata=metadata)}


def _begun(stepper: Stepper) -> None:
    """Gives an optimizer that has taken no step the moments that torch makes at the first: Megatron reads them.

    A rank that moves nothing counts the steps of the others: what is common to all ranks, the first one writes.
    RecipeError RL406 for an optimizer whose state has no such form.
    """
    for each in stepper.optimizer.chained_optimizers:
        if not isinstance(each, DistributedOptimizer):
            raise RecipeError([Diagnostic(
                "RL406", f"the state of {stepper.spec.target} cannot be written for another layout",
                why="Megatron spreads the state of Adam only", fix="resume in the layout that wrote the checkpoint")])
        for p in each.get_parameters():
            if not each.optimizer.state[p]:
                each.optimizer.state[p] = {"step": torch.zeros(()), "exp_avg": torch.zeros_like(p),
                                           "exp_avg_sq": torch.zeros_like(p)}
        steps = [each.optimizer.state[p]["step"] for p in each.get_parameters()]
        most = torch.tensor([float(max(steps, default=0.0))], device=torch.cuda.current_device())
        dist.all_reduce(most, op=dist.ReduceOp.MAX)
        if not steps:
            each.optimizer.state[NOTHING] = {"step": most.squeeze(0)}
