"""RL402: heads, layers or experts of the model that the layout cannot divide.

Tensor parallelism gives each rank whole attention heads. Key/value heads are divided, or copied where there are fewer
of them than ranks. Pipeline parallelism gives each stage as many layers, expert parallelism each rank as many experts;
a model without experts has nothing to spread.
A vocabulary is padded by the engines, so it divides always.
Source: Megatron-LM (arXiv:2104.04473), section 2; vLLM's parallel layers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import facts_of, plural
from ..recipe import Recipe
from ..roles import INITIAL, REFERENCE, TEACHER, frozen
from ..shapes import Parts, experts_of, parts

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
        divided = list(_divided(facts_of(recipe, model, parts), facts_of(recipe, model, experts_of)))
        for setting, what, number in divided:
            size = getattr(recipe.settings.cluster, setting)
            if not fits(what, number, size) and not (setting in SAMPLING and path != "model.policy"):
                near = legal([(w, n) for other, w, n in divided if other == setting], size)
                yield _indivisible(recipe, path, (model, setting), what, number, near)


def _models(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """(setting, model) of the policy, and of every frozen model that is another one."""
    policy, others = recipe.settings.model.policy, frozen(recipe)
    yield from [("model.policy", policy)] if policy else []
    for role, models in others.items():
        yield from ((FROM[role], m) for m in models if m not in (policy, INITIAL))


def _divided(found: Parts | None, experts: int | None) -> Iterator[tuple[str, str, int]]:
    for setting in ("tensor", *SAMPLING) if found else ():
        yield setting, "attention head", found.heads
        yield setting, "key/value head", found.kv_heads
    if found:
        yield "pipeline", "layer", found.layers
    if experts or (found and found.experts == 0):
        yield "expert", "expert", experts or 0


def fits(what: str, number: int, size: int) -> bool:
    """Whether so many can be divided over a layout of this size; key/value heads may also be copied. A model without
    experts has none to spread."""
    if not number:
        return size == 1
    return number % size == 0 or (what == "key/value head" and size % number == 0)


def legal(divided: Sequence[tuple[str, int]], size: int) -> list[int]:
    """Sizes near this one that divide all of these (what, number)."""
    every = [n for n in range(1, max(number for _, number in divided) + 1)
             if all(fits(what, number, n) for what, number in divided)] or [1]
    return sorted(sorted(every, key=lambda n: abs(n - size))[:OFFERED])


def _indivisible(recipe: Recipe, path: str, of: tuple[str, str], what: str, number: int, near: list[int]) -> Diagnostic:
    model, setting = of
    size = getattr(recipe.settings.cluster, setting)
    has = plural(number, what) if number else f"no {what}s"
    return clash(
        CODE, recipe, f"{model} has {has}, which {setting} {size} does not divide.",
        (recipe.where(f"cluster.{setting}"), f"{setting} {size}"),
        (recipe.where(path), has),
        why="Every rank holds whole heads, layers or experts, and all ranks hold equally many.",
        fix=f"Write {setting}: {' or '.join(map(str, near))}.")
