"""RL402: heads, layers or experts of the model that the layout cannot divide.

Tensor parallelism gives each rank whole attention heads. Key/value heads are divided, or copied where there are fewer
of them than ranks. Pipeline parallelism gives each stage as many layers, expert parallelism each rank as many experts.
A vocabulary is padded by the engines, so it divides always.
Source: Megatron-LM (arXiv:2104.04473), section 2; vLLM's parallel layers.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import facts_of, plural
from ..recipe import Recipe
from ..roles import INITIAL, REFERENCE, TEACHER, frozen
from ..shapes import Shape, experts_of, shape

CODE = "RL402"
SAMPLING = ("rollout_tensor",)
"""The layout of engines, which hold the policy only."""
FROM = {REFERENCE: "model.reference", TEACHER: "model.teachers"}
OFFERED = 4
"""Legal sizes that a fix names."""


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each setting of the layout and model; a model whose shape is not known refuses nothing."""
    if recipe.settings.cluster.where == "local":
        return
    for path, model in _models(recipe):
        for setting, what, number in _divided(facts_of(recipe, model, shape), facts_of(recipe, model, experts_of)):
            size = getattr(recipe.settings.cluster, setting)
            if not fits(what, number, size) and not (setting in SAMPLING and path != "model.policy"):
                yield _indivisible(recipe, path, model, setting, what, number)


def _models(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """(setting, model) of the policy, and of every frozen model that is another one."""
    policy, others = recipe.settings.model.policy, frozen(recipe)
    yield from [("model.policy", policy)] if policy else []
    for role, models in others.items():
        yield from ((FROM[role], m) for m in models if m not in (policy, INITIAL))


def _divided(found: Shape | None, experts: int | None) -> Iterator[tuple[str, str, int]]:
    for setting in ("tensor", *SAMPLING) if found else ():
        yield setting, "attention head", found.heads
        yield setting, "key/value head", found.kv_heads
    if found:
        yield "pipeline", "layer", found.layers
    if experts:
        yield "expert", "expert", experts


def fits(what: str, number: int, size: int) -> bool:
    """Whether so many can be divided over a layout of this size; key/value heads may also be copied."""
    return number % size == 0 or (what == "key/value head" and size % number == 0)


def _indivisible(recipe: Recipe, path: str, model: str, setting: str, what: str, number: int) -> Diagnostic:
    size = getattr(recipe.settings.cluster, setting)
    legal = [n for n in range(1, max(number, size) + 1) if fits(what, number, n)]
    near = sorted(sorted(legal, key=lambda n: abs(n - size))[:OFFERED])
    return clash(
        CODE, recipe, f"{model} has {plural(number, what)}, which {setting} {size} does not divide.",
        (recipe.where(f"cluster.{setting}"), f"{setting} {size}"),
        (recipe.where(path), plural(number, what)),
        why="Every rank holds whole heads, layers or experts, and all ranks hold equally many.",
        fix=f"Write {setting}: {' or '.join(map(str, near))}.")
