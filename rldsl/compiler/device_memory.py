"""The least that each phase of a batch needs of one device: what no layout of this recipe can go below.

Training is counted as if it were sharded over all devices of its role, sampling with the key-value cache of a single
response. Activations, buffers and fragmentation come on top. What is above the device is impossible; what is below it
may still be too much.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rldsl.axes.traits import VALUES

from .facts import facts_of, giving, model_facts, sampler
from .memory import FLOAT32, held
from .recipe import Recipe
from .roles import CRITIC, INITIAL, JUDGE, TRAIN, apart, asked, frozen, judging, pooled, processes
from .shapes import Shape, shape
from .trained_part import frozen_parameters, trained_parameters

HALF = 2
"""Bytes of a weight in an inference engine, and of a key or value."""
TRAINED = "weights, gradients, optimizer"
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
    """Training, what roles with devices of their own hold, the hand-over of weights where sampling and training share
    their devices, and sampling; none where the model is not known. Without GPUs a device is a process."""
    found = model_facts(recipe, shape)
    train = recipe.placement.choice.pools().get(TRAIN, pooled(recipe))
    if train is None:
        train = next(role.count for role in processes(recipe) if role.name == TRAIN)
    if found is None or train < 1 or recipe.settings.cluster.where == "local":
        return
    engine, sets = recipe.settings.cluster.rollout_tensor, recipe.placement.choice.serves()
    weights, own = sets * HALF * found.parameters / engine, {role.role: role.ranks for role in apart(recipe)}
    beside = list(_beside(recipe, found))
    trained = dict(_policy(recipe, found))
    trained |= {f"the {role}'s {what}": sum(sizes) for role, what, sizes in beside if role not in own}
    yield Phase("training", "train", {what: size / train for what, size in trained.items()})
    for role, what, sizes in beside:
        if role in own:
            yield Phase(f"the {role}", role, {what: max(sizes) / own[role]})
    if known := list(_asked(recipe)):
        yield Phase("the judge", JUDGE, {f"the {role}'s weights": size for role, size in known})
    if recipe.placement.choice.shared() or recipe.placement.choice.lends():
        mine = HALF * found.parameters / train
        yield Phase("handing over the weights", "rollout" if weights >= mine else "train",
                    {"the trainer's weights": mine, f"the engine's {_sets(sets)}": weights})
    yield Phase("sampling", "rollout", {_sets(sets): weights, "keys and values of one response": _cache(recipe, found)})


def _sets(number: int) -> str:
    return "weights" if number == 1 else f"{number} sets of weights"


def sleeping(recipe: Recipe) -> float | None:
    """Bytes that the engines of one node leave in its memory while the trainer has the devices they share."""
    found, shared = model_facts(recipe, shape), shared_devices(recipe)
    if found is None or shared is None:
        return None
    return HALF * found.parameters * shared / recipe.settings.cluster.rollout_tensor


def shared_devices(recipe: Recipe) -> int | None:
    """GPUs that engines and trainer share, of the node that has most of them, at least; None where they share none.

    Those of roles that have devices of their own hold no engine.
    """
    rest = pooled(recipe)
    if rest is None or rest < 1 or not recipe.placement.choice.shared():
        return None
    return -(-rest // recipe.settings.cluster.nodes)


def _asked(recipe: Recipe) -> Iterator[tuple[str, int]]:
    """(what it is asked as, bytes) of each model whose size is known in a process that is asked: whole, in float32."""
    for role, model in asked(recipe).items() if judging(recipe) else ():
        found = model and facts_of(recipe, model, shape)
        if found:
            yield role, FLOAT32 * found.parameters


def _beside(recipe: Recipe, s: Shape) -> Iterator[tuple[str, str, list[int]]]:
    """(role, what it holds, the bytes of each of its models) for the critic and the frozen models, as far as they are
    read and their sizes are known."""
    if giving(recipe, VALUES):
        optim = recipe.settings.critic.optimizer or recipe.settings.optim.optimizer
        yield CRITIC, TRAINED, [FLOAT32 * s.parameters * held(optim)]
    for role, models in frozen(recipe).items():
        known = [x for m in models if (x := s if m == INITIAL else facts_of(recipe, m, shape))]
        if known:
            yield role, "weights", [HALF * x.parameters for x in known]


def _policy(recipe: Recipe, s: Shape) -> Iterator[tuple[str, int]]:
    """What is trained of the policy, and the rest of it, which has neither gradient nor master."""
    optim = recipe.settings.optim
    yield TRAINED, FLOAT32 * trained_parameters(s, optim) * held(optim.optimizer)
    if rest := frozen_parameters(s, optim):
        yield "weights that stay", HALF * rest


def _cache(recipe: Recipe, s: Shape) -> float:
    """Of one response at full length, with the key/value heads over the engine's devices as far as they go."""
    length = sampler(recipe).max_tokens + (recipe.settings.model.max_prompt or 0)
    ranks = min(recipe.settings.cluster.rollout_tensor, s.kv_heads)
    return 2 * s.layers * s.kv_heads * s.head_width * HALF * length / ranks
