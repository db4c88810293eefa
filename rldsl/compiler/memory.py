"""A first estimate of memory: what each phase of a batch holds, summed over all devices, before any sharding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rldsl.axes.base import Optimizer

from .graph import CRITIC_WEIGHTS, JUDGE_WEIGHTS, REFERENCE_WEIGHTS, REWARD_WEIGHTS, TEACHER_WEIGHTS, Graph
from .recipe import Recipe
from .shapes import Shape, shape
from .trained_part import frozen_parameters, trained_parameters

FLOAT32 = 4
"""Bytes; weights, gradients and optimizer states are kept in float32."""
COMPUTE = {"bfloat16": 2, "float32": 4}

Fact = tuple[str, str]


def estimate(recipe: Recipe, graph: Graph, dtype: str) -> Iterator[Fact]:
    """(what, how much) by role and phase; one line that says what is unknown where a size is."""
    spec = recipe.settings.model.policy
    found = shape(spec, Path(recipe.file).parent) if spec else None
    if found is None:
        yield "memory", "unknown: " + (f"nothing here says how large {spec} is" if spec else "model.policy is not set")
        return
    yield "parameters", f"about {_count(found.parameters)} ({spec})"
    optim, critic, reference = recipe.settings.optim, 0, 0
    policy = FLOAT32 * (frozen_parameters(found, optim) + trained_parameters(found, optim) * held(optim.optimizer))
    yield "policy: weights, gradients, optimizer", amount(policy)
    if graph.readers(CRITIC_WEIGHTS):
        critic = FLOAT32 * found.parameters * held(recipe.settings.critic.optimizer or optim.optimizer)
        yield "critic: weights, gradients, optimizer", amount(critic)
    if graph.readers(REFERENCE_WEIGHTS):
        reference = FLOAT32 * found.parameters
        yield "reference: weights", amount(reference)
    teacher = _teachers(recipe, graph)
    if teacher is None:
        yield "teacher: weights", "unknown: nothing here says how large it is"
    elif teacher:
        yield "teacher: weights", amount(teacher)
    judges = _judges(recipe, graph)
    if judges is None:
        yield "reward model and judge: weights", "unknown: nothing here says how large they are"
    elif judges:
        yield "reward model and judge: weights", amount(judges)
    copy = COMPUTE[dtype] * found.parameters if dtype != "float32" else 0
    if copy:
        yield f"copy in {dtype} while it computes", amount(copy)
    cache = _cache(recipe, found, COMPUTE[dtype])
    resting = policy + critic + reference + (teacher or 0) + (judges or 0) + copy
    yield "while training, without activations", amount(resting)
    if cache is None:
        yield "key-value cache of one batch", "unknown: data.prompts is not set"
    else:
        yield "key-value cache of one batch, at full length", amount(cache)
        yield "while sampling", amount(resting + cache)


def _teachers(recipe: Recipe, graph: Graph) -> int | None:
    """Bytes of the teachers that are read, or None where a size is unknown."""
    return _weights(recipe, recipe.settings.model.teachers if graph.readers(TEACHER_WEIGHTS) else ())


def _judges(recipe: Recipe, graph: Graph) -> int | None:
    """The same of the reward model and of a judge that is not the policy."""
    model = recipe.settings.model
    asked = ((REWARD_WEIGHTS, model.reward), (JUDGE_WEIGHTS, model.judge))
    return _weights(recipe, [spec for field, spec in asked if graph.readers(field) and spec not in (None, "policy")])


def _weights(recipe: Recipe, named: Sequence[str]) -> int | None:
    found = [shape(spec, Path(recipe.file).parent) for spec in named]
    return None if None in found else FLOAT32 * sum(s.parameters for s in found)


def held(optimizer: Optimizer | None) -> int:
    """Numbers that are kept for each parameter: itself and, where it is trained, its gradient and the slots."""
    if optimizer is not None and not optimizer.trains():
        return 1
    return 2 + (optimizer.slots() if optimizer else 0)


def _cache(recipe: Recipe, s: Shape, size: int) -> int | None:
    """Keys and values of every response token, and of each prompt once."""
    sampler, prompts = recipe.sampling[0].choice, recipe.settings.data.prompts
    if prompts is None:
        return None
    answer = prompts * sampler.siblings() * sampler.max_tokens
    question = prompts * (recipe.settings.model.max_prompt or 0)
    return 2 * s.layers * s.kv_heads * s.head_width * size * (answer + question)


def amount(size: float) -> str:
    """Bytes in the largest unit that leaves a number above one."""
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB" if size < 1000 else f"{size:,.0f} TB"


def _count(n: float) -> str:
    for unit in ("", " thousand", " million"):
        if n < 1000:
            return f"{n:.3g}{unit}"
        n /= 1000
    return f"{n:.3g} billion"
