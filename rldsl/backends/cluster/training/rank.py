"""One rank of a role: its part of every model the role has, and what it does together with the role's other ranks.

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

from rldsl.algebra.divergence import is_divergence
from rldsl.algebra.grain import variables
from rldsl.algebra.variables import PRETRAIN
from rldsl.backends.cluster.megatron import cpu
from rldsl.backends.cluster.megatron.layout import Parallel, Place, join, leave, place
from rldsl.backends.cluster.megatron.shape import read_shape, require_fit
from rldsl.backends.local.decoder.trained_part import ALL, Part
from rldsl.backends.local.engine import CRITIC, POLICY
from rldsl.backends.local.formats.hf_weights import VALUE_HEAD
from rldsl.backends.local.stage import WHOLE
from rldsl.backends.local.training.optimizer import OptimizerSpec
from rldsl.backends.local.training.teachers import Teachers
from rldsl.backends.local.training.terms import prepare as prepare_terms
from rldsl.backends.torch_math import TorchMath
from rldsl.compiler.objective import Objective
from rldsl.compiler.roles import REFERENCE
from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.runtime.metrics import ROUNDED_AWAY
from rldsl.runtime.protocols import Cutting
from rldsl.runtime.tally import Tally
from rldsl.runtime.trajectory import SamplingOptions, Trajectory

from .parcel import Parcel, unpacked

DTYPES = {"float32": torch.float32, "fp32": torch.float32, "bfloat16": torch.bfloat16, "bf16": torch.bfloat16}
QUANTITIES = {"logp_current", "entropy", "kl_exact", "squares", PRETRAIN.name}
"""What terms may read of the current policy, divergences from teachers on its own ranks beside."""
ALIGNED = {"head_dtype", "replay_routing", "replay_candidates", "weights"}
"""What alignment may ask of this trainer."""


@dataclass(frozen=True)
class PolicySpec:
    """The policy that is trained: the Hugging Face folder that it begins with, what it maximises, and its optimizer.
    One without an optimizer stays as it is. Of the others `part` is trained; low-rank additions begin with numbers
    drawn from `seed`."""

    folder: Path
    objective: Objective
    optimizer: OptimizerSpec | None
    part: Part = ALL
    seed: int = 0


@dataclass(frozen=True)
class CriticSpec:
    """The critic: the folder of the policy whose copy it begins as, its optimizer, and its steps for each of the
    policy's. Where `weights` names a file, it begins with the critic in it."""

    folder: Path
    optimizer: OptimizerSpec
    steps: int = 1
    weights: Path | None = None


@dataclass(frozen=True)
class RankSpec:
    """What every rank of one role is built from: the models that the role has, and how they are shared out.

    `frozen` are {name: Hugging Face folder} of models that nobody trains, asked for under these names; `teachers` are
    those of them whose whole distributions the policy's can be compared with. `align` are the options of alignment;
    where these round the weights, those of the policy and of the models in `rounded` are.
    """

    parallel: Parallel
    dtype: str
    sampling: SamplingOptions
    policy: PolicySpec | None = None
    critic: CriticSpec | None = None
    frozen: Mapping[str, Path] = field(default_factory=dict)
    teachers: Teachers[str] | None = None
    align: Mapping[str, Any] = field(default_factory=dict)
    rounded: frozenset[str] = frozenset()

    def folders(self) -> tuple[Path, ...]:
        """Where its models come from."""
        learning = [model.folder for model in (self.policy, self.critic) if model is not None]
        return tuple(dict.fromkeys([*learning, *self.frozen.values()]))


@dataclass(frozen=True)
class Share:
    """One shard's share of columns over all rows: which rows, and their numbers one after another."""

    positions: list[int]
    columns: Mapping[str, np.ndarray]


def refuse(spec: RankSpec) -> None:
    """RecipeError RL402 for a model that the layout cannot divide, RL406 for what these ranks cannot do."""
    for folder in spec.folders():
        require_fit(read_shape(folder), spec.parallel, folder)
    needs = [f"alignment {name}" for name in sorted(set(spec.align) - ALIGNED)]
    read = {v.name for e in spec.policy.objective.expressions() for v in variables(e) if v.gradient} if (
        spec.policy) else set()
    needs += [f"the quantity {name}" for name in sorted(read - QUANTITIES)
              if not (is_divergence(name) and spec.teachers is not None)]
    if spec.policy is not None and spec.policy.part.rank is not None and read_shape(spec.policy.folder).experts:
        needs.append("optim.lora_rank and a model with experts")
    if needs:
        raise RecipeError([Diagnostic(
            "RL406", f"the cluster backend cannot train with {'; '.join(needs)}",
            why="what it computed would not be what the recipe says",
            fix="run it in one process, cluster { local }")])


class Rank:
    """Rank `number`. Nothing is loaded before `join`."""

    def __init__(self, spec: RankSpec, number: int):
        cpu.prepare()
        self.spec, self.number = spec, number

    def join(self, address: str) -> Place:
        """Meets the other ranks at `address` ("host:port") and loads every model of its role."""
        with cpu.devices():
            join(self.spec.parallel, self.number, address)
            self.place = place()
            self._build()
        return self.place

    def _build(self) -> None:
        from rldsl.backends.cluster.megatron.beside import Beside
        from rldsl.backends.cluster.megatron.critic import CriticTrainer
        from rldsl.backends.cluster.megatron.hold import hold
        from rldsl.backends.cluster.megatron.policy import PolicyTrainer

        spec, dtype = self.spec, DTYPES[self.spec.dtype]
        self.math = TorchMath(torch.cuda.current_device())
        wide, rounding = spec.align.get("head_dtype") == "float32", spec.align.get("weights")
        self.policy, self.critic = None, None
        if spec.policy is not None:
            held, stepper = hold(spec.policy.folder, dtype, spec.policy.optimizer, wide=wide,
                                 replays="replay_routing" in spec.align, part=spec.policy.part,
                                 seed=spec.policy.seed, rounding=rounding)
            self.policy = PolicyTrainer(held, stepper, prepare_terms(spec.policy.objective), spec.sampling, self.math)
        self.frozen = {
            name: hold(folder, dtype, None, wide=wide, rounding=rounding if name in spec.rounded else None)[0]
            for name, folder in spec.frozen.items()}
        self.beside = Beside(self.frozen.get(REFERENCE), spec.teachers and Teachers(
            tuple(self.frozen[name] for name in spec.teachers.models), spec.teachers.of))
        if spec.critic is not None:
            held, own = hold(spec.critic.folder, dtype, spec.critic.optimizer, critic=True, weights=spec.critic.weights)
            self.critic = CriticTrainer(held, own, spec.critic.steps)

    def logprobs(self, policy: str, rows: Sequence[Trajectory], wants: Sequence[str], cutting: Cutting) -> Share | None:
        """Quantities of a frozen model by its name, else of the policy, of this shard's rows."""
        from rldsl.backends.cluster.megatron.policy import measure

        held = self.frozen[policy] if policy in self.frozen else self.policy.held
        with cpu.devices():
            return self._part(*measure(held, rows, wants, self.spec.sampling, cutting, self.beside))

    def values(self, rows: Sequence[Trajectory], cutting: Cutting) -> Share | None:
        """The critic's values of this shard's rows, as the column "values"."""
        from rldsl.backends.cluster.megatron.critic import values

        with cpu.devices():
            return self._part(*values(self.critic.held, rows, cutting))

    def update(self, rows: Sequence[Trajectory], parcel: Parcel) -> Tally | None:
        """The role's share of one update, as `TrainEngine.update`; RunError RL601 on every rank before a step on any.
        """
        from rldsl.backends.cluster.megatron.critic import critic_step
        from rldsl.backends.cluster.megatron.policy import policy_step

        job, tally = unpacked(parcel, rows, self.math), Tally()
        with cpu.devices():
            if job.policy and self.policy is not None:
                tally.include(policy_step(self.policy, job, self.beside))
                self._measure_rounding(tally)
            if job.critic and self.critic is not None:
                tally.include(critic_step(self.critic, job))
        return tally if self.place.speaks else None

    def _measure_rounding(self, tally: Tally) -> None:
        """How much of the low-rank additions the dtype of the computation loses."""
        from rldsl.backends.cluster.megatron.trained_part import rounded_away

        if self.spec.policy.part.rank is not None and DTYPES[self.spec.dtype] != torch.float32:
            share = rounded_away(self.policy.held.trunk)
            if self.place.data == 0:
                tally.add(ROUNDED_AWAY.name, share)

    def export(self, made: Callable[[dict[str, Tensor]], Any]) -> Any:
        """What `made` makes of the tensors that the policy computes with, under their Hugging Face names, at rank 0."""
        from rldsl.backends.cluster.megatron.convert import exported

        with cpu.devices():
            found = exported(self.policy.held.trunk, self.policy.held.shape, used=True)
        return None if found is None else made(found)

    def forget(self) -> None:
        """As `TrainEngine.forget`."""
        if self.policy.stepper is not None:
            self.policy.stepper.begin()

    def save(self, folder: Path) -> None:
        """Writes this rank's files."""
        from rldsl.backends.cluster.megatron.checkpoint import save

        with cpu.devices():
            save(folder, self.trained(), self.spec.parallel, self.number)

    def write(self, folder: Path) -> None:
        """Writes the role's policy and critic whole, one file each, as `stage.WHOLE` names them: at rank 0."""
        from rldsl.backends.cluster.megatron.convert import exported
        from rldsl.backends.cluster.megatron.model import VALUE

        policy = self.policy and (POLICY, self.policy.held, {})
        critic = self.critic and (CRITIC, self.critic.held, {VALUE: VALUE_HEAD})
        with cpu.devices():
            for file, held, ours in filter(None, (policy, critic)):
                found = exported(held.trunk, held.shape, ours)
                if found is not None:
                    save_file({name: t.clone() for name, t in found.items()}, folder / WHOLE[file], {"format": "pt"})

    def load(self, folder: Path) -> None:
        """Restores what `save` or `save_whole` wrote; RunError RL609 on every rank where it does not fit."""
        from rldsl.backends.cluster.megatron.checkpoint import load
        from rldsl.backends.cluster.megatron.reshard import is_whole, load_whole

        with cpu.devices():
            if is_whole(folder):
                load_whole(folder, self.trained())
            else:
                load(folder, self.trained(), self.spec.parallel, self.number)

    def save_whole(self, folder: Path) -> None:
        """Writes the checkpoint in the form that another layout can read."""
        from rldsl.backends.cluster.megatron.reshard import save_whole

        with cpu.devices():
            save_whole(folder, self.trained())

    def trained(self) -> dict[str, Any]:
        """The steppers of the models that are trained, by name."""
        trainers = {"policy": self.policy, "critic": self.critic}
        return {name: each.stepper for name, each in trainers.items() if each is not None and each.stepper is not None}

    def leave(self) -> None:
        """Parts from the other ranks."""
        leave()

    def _part(self, positions: list[int], columns: Mapping[str, Tensor]) -> Share | None:
        if not self.place.speaks:
            return None
        return Share(positions, {name: c.detach().double().cpu().numpy() for name, c in columns.items()})
