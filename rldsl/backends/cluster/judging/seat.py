"""The models that one process holds to be asked: in texts for a score, or for the beginnings of responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rldsl.backends.cluster.model_folder import Source
from rldsl.backends.cluster.weights import Manifest, unpack
from rldsl.backends.local.allocator import keep_freed_memory
from rldsl.backends.local.data import Model
from rldsl.backends.local.decoder.architecture import from_config
from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.local.decoder.numerics import Numerics, numerics
from rldsl.backends.local.formats.hf_folder import reader, unreadable
from rldsl.backends.local.formats.hf_weights import adopt
from rldsl.backends.local.judging.judges import Said, replies, valued
from rldsl.backends.local.judging.load_judges import load_judges
from rldsl.backends.local.load import compute_dtype
from rldsl.backends.local.sampling.sampler import sample
from rldsl.compiler.canonical import from_canonical
from rldsl.compiler.plan import Plan
from rldsl.compiler.roles import INITIAL, JUDGE, POLICY
from rldsl.runtime.protocols import Cutting
from rldsl.runtime.trajectory import Request, SamplingOptions, Trajectory


@dataclass(frozen=True)
class SeatSpec:
    """What a process holds: the reward model and the judge of `plan`, with paths from `root` and with what their
    training before the run came to in `trained`; and of `sources`, {role: its folder}, each."""

    plan: Plan
    root: Path
    trained: Path
    sources: Mapping[str, Source]


class Seat:
    """The loaded models of a SeatSpec, computed by the embedded backend's own code. RecipeError RL407, RL406 as there.

    The one called `policy` begins as its source says and takes over each version that it is given.
    """

    version: int | None = None

    def __init__(self, spec: SeatSpec):
        keep_freed_memory()
        recipe = from_canonical(spec.plan.recipe)
        align = numerics(spec.plan.graph.of("sample")[0].options.get("align", {}))
        own = {POLICY, INITIAL} if recipe.settings.model.reference == INITIAL else {POLICY}
        judges = load_judges(spec.plan, recipe, spec.root, lambda *_: None, spec.trained)
        self._models = {role: _held(source, spec.plan.resolved["dtype"], align if role in own else None)
                        for role, source in spec.sources.items()}
        if judges.judge is not None:
            self._models[JUDGE] = judges.judge
        self._reward, self._seed = judges.reward, spec.plan.seed

    def replies(self, role: str, asked: Sequence[tuple[str, str]], cutting: Cutting) -> Said:
        """See TrainEngine. A judge that is no model of its own is the policy."""
        return replies(self._models.get(role) or self._models[POLICY], asked, cutting)

    def valued(self, responses: Sequence[tuple[str, str]], cutting: Cutting) -> Said:
        """See TrainEngine."""
        return valued(self._reward, responses, cutting)

    def sample(self, policy: str, requests: Sequence[Request], options: SamplingOptions, batch: int,
               version: int) -> list[Trajectory]:
        """See RolloutEngine. `version` is written down for each token."""
        return sample(self._models[policy].policy, requests, options, seed=self._seed, batch=batch, version=version)

    def take(self, version: int, manifest: Manifest, flat: np.ndarray) -> None:
        """The policy's weights of this version, where they are not those it has."""
        if version != self.version:
            policy = self._models[POLICY].policy
            adopt(policy, dict(unpack(manifest, flat)).__getitem__)
            policy.numerics = replace(policy.numerics, quantise=None)  # what is pushed is rounded already
            self.version = version


def _held(source: Source, dtype: str, align: Numerics | None) -> Model:
    """A frozen model from its folder."""
    policy = Policy(from_config(source.config, str(source.folder)), compute_dtype(dtype), source.tokenizer)
    try:
        adopt(policy, reader(source.folder))
    except (KeyError, ValueError) as error:
        raise unreadable(source.folder, f"its weights do not fit its config.json: {error.args[0]}") from None
    policy = policy.to("cuda" if torch.cuda.is_available() else "cpu").requires_grad_(False)
    policy.numerics = align or policy.numerics
    return Model(policy, source.tokenizer)


def require_supported(sources: Mapping[str, Any]) -> None:
    """RecipeError RL406 for a model that this code does not compute, before any process is started."""
    for source in sources.values():
        from_config(source.config, str(source.folder))
