"""Trainer and sampler over one set of weights: the engine of the embedded backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from rldsl.backends.local.decoder.model import Policy, fingerprint
from rldsl.backends.local.decoder.trained_part import rounded_away
from rldsl.backends.local.judging.judges import replies, valued
from rldsl.backends.local.judging.load_judges import Judges
from rldsl.backends.local.sampling.sampler import sample
from rldsl.backends.local.training.critic import CriticTrainer, critic_step
from rldsl.backends.local.training.forward import Critic, forward, values
from rldsl.backends.local.training.optimizer import OptimizerSpec, Stepper
from rldsl.backends.local.training.pieces import measured
from rldsl.backends.local.training.policy import PolicyTrainer, policy_step
from rldsl.backends.local.training.teachers import Teachers, weighted
from rldsl.backends.local.training.terms import prepare
from rldsl.backends.torch_math import TorchMath
from rldsl.compiler.objective import Objective
from rldsl.diagnostics import Diagnostic
from rldsl.runtime.errors import RunError
from rldsl.runtime.metrics import ROUNDED_AWAY
from rldsl.runtime.protocols import Cutting, UpdateJob
from rldsl.runtime.tally import Tally
from rldsl.runtime.trajectory import Request, SamplingOptions, Trajectory

from .data import Model

POLICY, OPTIMIZER, CRITIC, CRITIC_OPTIMIZER = "policy.pt", "optimizer.pt", "critic.pt", "critic_optimizer.pt"
LOGP = "logp_current"


class LocalEngine:
    """Implements `rldsl.runtime.protocols` RolloutEngine and TrainEngine in one process.

    `reference` builds the frozen reference policy on first use; recipes without one never call it. `teachers` are the
    policies that the student learns from, `judges` the models that score.
    """

    def __init__(self, policy: Policy, objective: Objective, sampling: SamplingOptions, optimizer: OptimizerSpec, *,
                 seed: int, critic: tuple[OptimizerSpec, int] | None = None,
                 reference: Callable[[], Policy] | None = None, teachers: Teachers | None = None,
                 judges: Judges | None = None):
        self.policy, self.sampling, self.seed = policy, sampling, seed
        self.version, self._judges = 0, judges or Judges()
        self.math = TorchMath(policy.device)
        self._load_reference, self._reference, self._teachers = reference, None, teachers
        self._trainer = PolicyTrainer(policy, Stepper(policy, optimizer), prepare(objective), sampling, self.math,
                                      teachers)
        self._critic = None
        if critic is not None:
            model = Critic(policy)
            self._critic = CriticTrainer(model, Stepper(model, critic[0]), critic[1])

    def sample(self, requests: Sequence[Request], options: SamplingOptions, *, batch: int,
               greedy: bool = False, policy: str = "current") -> list[Trajectory]:
        """See RolloutEngine."""
        who = self._teachers.models[0] if policy == "teacher" else self.policy
        return sample(who, requests, options, seed=self.seed, batch=batch, version=self.version, greedy=greedy)

    def logprobs(self, policy: str, rows: Sequence[Trajectory], wants: Sequence[str],
                 cutting: Cutting) -> dict[str, Tensor]:
        """See TrainEngine. Before an update, `old` is the current policy."""
        if policy == "teacher":
            return {name: self.math.column(self._taught(rows, cutting)) for name in wants}
        who = self.reference() if policy == "ref" else self.policy
        asked = {name: name if policy == "current" else LOGP for name in wants}
        other = self.reference() if "kl_exact" in asked.values() else None
        found = measured(rows, cutting, lambda piece: forward(
            who, piece, frozenset(asked.values()), self.sampling, grad=False, reference=other, teachers=self._teachers,
            share_prompts=cutting.share_prompts))
        return {name: self.math.column(found[quantity]) for name, quantity in asked.items()}

    def _taught(self, rows: Sequence[Trajectory], cutting: Cutting) -> Tensor:
        """The teachers' log-prob of each action token."""
        def scored(teacher: Policy, mine: list[Trajectory], tokens: Tensor) -> Tensor:
            return forward(teacher, mine, frozenset({LOGP}), self.sampling, grad=False,
                           share_prompts=cutting.share_prompts)[LOGP]

        return measured(rows, cutting, lambda piece: {LOGP: weighted(
            self._teachers, piece, scored, self.policy.device)})[LOGP]

    def values(self, rows: Sequence[Trajectory], cutting: Cutting) -> Tensor:
        """See TrainEngine."""
        found = measured(rows, cutting, lambda piece: {"values": values(
            self._critic.critic, piece, grad=False, share_prompts=cutting.share_prompts)})
        return self.math.column(found["values"])

    def replies(self, role: str, asked: Sequence[tuple[str, str]], cutting: Cutting) -> list[float | None]:
        """See TrainEngine. A judge that is no model of its own is the policy."""
        if role == "judge" and self._judges.judge is not None:
            return replies(self._judges.judge, asked, cutting)
        who = self.reference() if role == "initial" else self.policy
        return replies(Model(who, self.policy.tokenizer), asked, cutting)

    def valued(self, responses: Sequence[tuple[str, str]], cutting: Cutting) -> list[float | None]:
        """See TrainEngine."""
        return valued(self._judges.reward, responses, cutting)

    def update(self, job: UpdateJob) -> Tally:
        """See TrainEngine."""
        tally = Tally()
        if job.policy:
            needs = "kl_exact" in job.options.wants
            tally.include(policy_step(self._trainer, job, self.reference() if needs else None))
            if self.policy.compute != torch.float32 and any(layer.adapters for layer in self.policy.layers):
                tally.add(ROUNDED_AWAY.name, rounded_away(self.policy))
        if job.critic:
            tally.include(critic_step(self._critic, job))
        return tally

    def publish(self) -> str:
        """See TrainEngine. Sampler and trainer share their weights, so only the version moves."""
        self.version += 1
        return fingerprint(self.policy)

    @property
    def critic(self) -> Critic:
        """The critic of a recipe that trains one."""
        return self._critic.critic

    def export(self) -> dict[str, Tensor]:
        """See TrainEngine."""
        return {name: tensor.detach().clone() for name, tensor in self.policy.state_dict().items()}

    def forget(self) -> None:
        """See TrainEngine."""
        self._trainer.stepper.begin()

    def reference(self) -> Policy:
        """The frozen reference policy."""
        if self._reference is None:
            self._reference = self._load_reference()
        return self._reference

    def save(self, folder: Path) -> None:
        """See TrainEngine."""
        for name, part in self._parts().items():
            torch.save(part.state_dict(), folder / name)

    def load(self, folder: Path, version: int) -> None:
        """See TrainEngine."""
        for name, part in self._parts().items():
            try:
                part.load_state_dict(torch.load(folder / name, map_location=self.policy.device, weights_only=True))
            except (OSError, RuntimeError, ValueError, KeyError) as error:
                raise RunError(Diagnostic(
                    "RL609", f"{folder / name} cannot be restored", why=f"{type(error).__name__}: {error}",
                    fix="resume with the recipe, model and release that wrote this checkpoint")) from error
        self.version = version

    def _parts(self) -> dict[str, nn.Module | torch.optim.Optimizer]:
        parts: dict[str, nn.Module | torch.optim.Optimizer] = {
            POLICY: self.policy, OPTIMIZER: self._trainer.stepper.optimizer}
        if self._critic is not None:
            parts |= {CRITIC: self._critic.critic, CRITIC_OPTIMIZER: self._critic.stepper.optimizer}
        return parts
