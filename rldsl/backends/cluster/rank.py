"""One rank of the trainer: its part of every model, and what it is asked to do together with all other ranks.

Knows nothing of Ray. Every method is called on all ranks at once, with the same arguments; what is not the same on all
of them comes back from one rank of each data-parallel shard, and None from the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from rldsl.algebra.grain import variables
from rldsl.backends.local.distribution import truncates
from rldsl.backends.local.engine import CRITIC, POLICY
from rldsl.backends.local.hf_weights import VALUE_HEAD
from rldsl.backends.local.stage import WHOLE
from rldsl.backends.local.terms import prepare as prepare_terms
from rldsl.backends.local.train_optimizer import OptimizerSpec
from rldsl.backends.torch_math import TorchMath
from rldsl.compiler.objective import Objective
from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.runtime.protocols import Cutting
from rldsl.runtime.tally import Tally
from rldsl.runtime.trajectory import SamplingOptions, Trajectory

from . import megatron_cpu
from .megatron_layout import Parallel, Place, join, leave, place
from .megatron_shape import read_shape, require_fit
from .parcel import Parcel, unpacked

DTYPES = {"float32": torch.float32, "fp32": torch.float32, "bfloat16": torch.bfloat16, "bf16": torch.bfloat16}
QUANTITIES = {"logp_current", "entropy", "kl_exact", "squares"}
"""What terms may read of the current policy."""
ALIGNED = {"head_dtype", "replay_routing", "replay_candidates"}
"""What alignment may ask of this trainer."""


@dataclass(frozen=True)
class RankSpec:
    """What every rank is built from. Models are Hugging Face folders; `align` are the options of alignment.

    A policy without an optimizer is not trained. `critic` is (its optimizer, steps for each of the policy's); it begins
    as a copy of the policy, or with the weights in the file `critic_from`.
    """

    parallel: Parallel
    policy: Path
    dtype: str
    objective: Objective
    sampling: SamplingOptions
    optimizer: OptimizerSpec | None
    critic: tuple[OptimizerSpec, int] | None = None
    critic_from: Path | None = None
    reference: Path | None = None
    teacher: Path | None = None
    align: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """One shard's share of a column over all rows: which rows, and their numbers one after another."""

    positions: list[int]
    columns: Mapping[str, np.ndarray]


def refuse(spec: RankSpec) -> None:
    """RecipeError RL402 for a model that the layout cannot divide, RL406 for what this trainer cannot do."""
    require_fit(read_shape(spec.policy), spec.parallel, spec.policy)
    needs = [f"alignment {name}" for name in sorted(set(spec.align) - ALIGNED)]
    read = {v.name for e in spec.objective.expressions() for v in variables(e) if v.gradient}
    needs += [f"the quantity {name}" for name in sorted(read - QUANTITIES)]
    if truncates(spec.sampling) and spec.parallel.tensor > 1 and "replay_candidates" not in spec.align:
        needs.append(f"top_p or top_k with tensor: {spec.parallel.tensor}, where no rank sees the whole vocabulary")
    if needs:
        raise RecipeError([Diagnostic(
            "RL406", f"the cluster backend cannot train with {'; '.join(needs)}",
            why="what it computed would not be what the recipe says",
            fix="run it with the local backend, or write replay(candidates) beside top_p or top_k")])


class Rank:
    """Rank `number`. Nothing is loaded before `join`."""

    def __init__(self, spec: RankSpec, number: int):
        megatron_cpu.prepare()
        self.spec, self.number = spec, number

    def join(self, address: str) -> Place:
        """Meets the other ranks at `address` ("host:port") and loads every model."""
        with megatron_cpu.devices():
            join(self.spec.parallel, self.number, address)
            self.place = place()
            self._build()
        return self.place

    def _build(self) -> None:
        from .megatron_critic import CriticTrainer
        from .megatron_hold import hold
        from .megatron_policy import PolicyTrainer

        spec, dtype = self.spec, DTYPES[self.spec.dtype]
        self.math = TorchMath(torch.cuda.current_device())
        wide = spec.align.get("head_dtype") == "float32"
        policy, stepper = hold(spec.policy, dtype, spec.optimizer, wide=wide, replays="replay_routing" in spec.align)
        self.policy = PolicyTrainer(policy, stepper, prepare_terms(spec.objective), spec.sampling, self.math)
        self.frozen = {name: hold(folder, dtype, None, wide=wide)[0]
                       for name, folder in (("ref", spec.reference), ("teacher", spec.teacher)) if folder is not None}
        self.critic = None
        if spec.critic is not None:
            held, own = hold(spec.policy, dtype, spec.critic[0], critic=True, weights=spec.critic_from)
            self.critic = CriticTrainer(held, own, spec.critic[1])

    def logprobs(self, policy: str, rows: Sequence[Trajectory], wants: Sequence[str], cutting: Cutting) -> Part | None:
        """Quantities of the policy, as `TrainEngine.logprobs`, of this shard's rows."""
        from .megatron_policy import measure

        held = self.frozen.get(policy, self.policy.held)
        reference = self.frozen["ref"] if "kl_exact" in wants else None
        with megatron_cpu.devices():
            return self._part(*measure(held, rows, wants, self.spec.sampling, cutting, reference))

    def values(self, rows: Sequence[Trajectory], cutting: Cutting) -> Part | None:
        """The critic's values of this shard's rows, as the column "values"."""
        from .megatron_critic import values

        with megatron_cpu.devices():
            return self._part(*values(self.critic.held, rows, cutting))

    def update(self, rows: Sequence[Trajectory], parcel: Parcel) -> Tally | None:
        """One update, as `TrainEngine.update`; RunError RL601 on every rank before a step on any."""
        from .megatron_critic import critic_step
        from .megatron_policy import policy_step

        job, tally = unpacked(parcel, rows, self.math), Tally()
        with megatron_cpu.devices():
            if job.policy:
                reference = self.frozen["ref"] if "kl_exact" in job.options.wants else None
                tally.include(policy_step(self.policy, job, reference))
            if job.critic:
                tally.include(critic_step(self.critic, job))
        return tally if self.place.speaks else None

    def export(self, made: Callable[[dict[str, Tensor]], Any]) -> Any:
        """What `made` makes of the policy's tensors under their Hugging Face names, at rank 0."""
        from .convert import exported

        with megatron_cpu.devices():
            found = exported(self.policy.held.trunk, self.policy.held.shape)
        return None if found is None else made(found)

    def forget(self) -> None:
        """As `TrainEngine.forget`."""
        if self.policy.stepper is not None:
            self.policy.stepper.begin()

    def save(self, folder: Path) -> None:
        """Writes this rank's files."""
        from .megatron_checkpoint import save

        with megatron_cpu.devices():
            save(folder, self.trained(), self.spec.parallel, self.number)

    def write(self, folder: Path) -> None:
        """Writes policy and critic whole, one file each, as `stage.WHOLE` names them: at rank 0."""
        from .convert import exported
        from .megatron_model import VALUE

        critic = self.critic and (CRITIC, self.critic.held, {VALUE: VALUE_HEAD})
        with megatron_cpu.devices():
            for file, held, ours in filter(None, ((POLICY, self.policy.held, {}), critic)):
                found = exported(held.trunk, held.shape, ours)
                if found is not None:
                    save_file({name: t.clone() for name, t in found.items()}, folder / WHOLE[file], {"format": "pt"})

    def load(self, folder: Path) -> None:
        """Restores what `save` or `save_whole` wrote; RunError RL609 on every rank where it does not fit."""
        from .megatron_checkpoint import load
        from .megatron_reshard import is_whole, load_whole

        with megatron_cpu.devices():
            if is_whole(folder):
                load_whole(folder, self.trained())
            else:
                load(folder, self.trained(), self.spec.parallel, self.number)

    def save_whole(self, folder: Path) -> None:
        """Writes the checkpoint in the form that another layout can read."""
        from .megatron_reshard import save_whole

        with megatron_cpu.devices():
            save_whole(folder, self.trained())

    def trained(self) -> dict[str, Any]:
        """The steppers of the models that are trained, by name."""
        found = {"policy": self.policy.stepper, "critic": self.critic and self.critic.stepper}
        return {name: stepper for name, stepper in found.items() if stepper is not None}

    def leave(self) -> None:
        """Parts from the other ranks."""
        leave()

    def _part(self, positions: list[int], columns: Mapping[str, Tensor]) -> Part | None:
        if not self.place.speaks:
            return None
        return Part(positions, {name: c.detach().double().cpu().numpy() for name, c in columns.items()})
