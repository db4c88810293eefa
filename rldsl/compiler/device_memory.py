"""The least that each phase of a batch needs of one device: what no layout of this recipe can go below.

Training is counted as if it were sharded over all devices of its role, sampling with the key-value cache of a single
response. Activations, buffers and fragmentation come on top. What is above the device is impossible; what is below it
may still be too much.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rldsl.algebra.variables import KL_EXACT, LOGP_REF, LOGP_TEACHER
from rldsl.axes.base import Optimizer
from rldsl.axes.traits import VALUES

from .facts import devices, facts_of, giving, model_facts, reading, sampler
from .memory import FLOAT32, held
from .recipe import Recipe
from .shapes import Shape, shape

HALF = 2
"""Bytes of a weight in an inference engine, and of a key or value."""
INITIAL = "initial"
"""The reference that is the policy itself before its first update."""
GIBI = 2**30
"""Bytes; the GB in the name of a GPU are these."""


@dataclass(frozen=True)
class Phase:
    """What is on one device at one time; `parts` is {what: bytes}, `role` whose layout decides it."""

    name: str
    role: str
    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        """Bytes."""
        return sum(self.parts.values())


def device_size(gpu: str | None) -> int | None:
    """Bytes of one device, from a name such as "H800-80GB"; None where the name does not say."""
    found = re.search(r"(\d+(?:\.\d+)?)\s*Gi?B", gpu or "")
    return int(float(found[1]) * GIBI) if found else None


def phases(recipe: Recipe) -> Iterator[Phase]:
    """Training, the hand-over of weights where both roles share their devices, and sampling; none where the model or
    the devices are not known."""
    found, total = model_facts(recipe, shape), devices(recipe)
    if found is None or total is None or recipe.settings.cluster.where == "local":
        return
    pools = recipe.placement.choice.pools()
    train, engine = pools.get("train", total), recipe.settings.cluster.rollout_tensor
    weights = HALF * found.parameters / engine
    yield Phase("training", "train", dict(_training(recipe, found, train)))
    if recipe.placement.choice.shared():
        own = HALF * found.parameters / train
        yield Phase("handing over the weights", "rollout" if weights >= own else "train",
                    {"the trainer's weights": own, "the engine's weights": weights})
    yield Phase("sampling", "rollout", {"weights": weights, "keys and values of one response": _cache(recipe, found)})


def sleeping(recipe: Recipe) -> float | None:
    """Bytes that the engines of one node leave in its memory while the trainer has the devices they share."""
    found, cluster = model_facts(recipe, shape), recipe.settings.cluster
    if found is None or cluster.gpus_per_node is None or not recipe.placement.choice.shared():
        return None
    return HALF * found.parameters * cluster.gpus_per_node / cluster.rollout_tensor


def _training(recipe: Recipe, s: Shape, ranks: int) -> Iterator[tuple[str, float]]:
    optim, critic = recipe.settings.optim.optimizer, recipe.settings.critic.optimizer
    yield "weights, gradients, optimizer", _trained(s, optim) / ranks
    if giving(recipe, VALUES):
        yield "the critic's", _trained(s, critic or optim) / ranks
    for role, models, read in _frozen(recipe):
        known = [x for m in models if (x := s if m == INITIAL else facts_of(recipe, m, shape))]
        if known and reading(recipe, *read):
            yield f"the {role}'s weights", HALF * sum(x.parameters for x in known) / ranks


def _frozen(recipe: Recipe) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """(role, its models, the quantities that they are there for)."""
    model = recipe.settings.model
    yield "reference", (model.reference,), (LOGP_REF.name, KL_EXACT.name)
    yield "teacher", model.teachers, (LOGP_TEACHER.name,)


def _trained(s: Shape, optimizer: Optimizer | None) -> int:
    return FLOAT32 * s.parameters * held(optimizer)


def _cache(recipe: Recipe, s: Shape) -> float:
    """Of one response at full length, with the key/value heads over the engine's devices as far as they go."""
    length = sampler(recipe).max_tokens + (recipe.settings.model.max_prompt or 0)
    ranks = min(recipe.settings.cluster.rollout_tensor, s.kv_heads)
    return 2 * s.layers * s.kv_heads * s.head_width * HALF * length / ranks
