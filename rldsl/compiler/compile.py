"""From a typed recipe to its plan: rules, objective, graph, passes."""

from __future__ import annotations

import glob
from collections.abc import Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

from rldsl import __version__
from rldsl.diagnostics import Diagnostic, RecipeError

from . import lower
from . import objective as objectives
from .canonical import canonical
from .check import check
from .fingerprint import fingerprints
from .passes import run_passes
from .plan import Plan
from .recipe import Recipe
from .settings import Settings

FAST_BFLOAT16 = ("avx512_bf16", "amx_bf16")
"""CPU features with which a bfloat16 matrix product is faster than a float32 one."""


def compile_recipe(recipe: Recipe, *, profile: str | None = None, sets: Sequence[str] = (),
                   off: Set[str] = frozenset()) -> tuple[Plan, list[Diagnostic]]:
    """The plan of a recipe, and the warnings about it. `off` names passes to leave out.

    Raises: RecipeError with everything the rules found, where one of them is an error.
    """
    found = check(recipe)
    if any(d.severity == "error" for d in found):
        raise RecipeError(found)
    formula = objectives.build(recipe)
    objective, graph, notes = run_passes(formula, lower.build(recipe, formula), off)
    data = canonical(recipe)
    plan = Plan(
        name=recipe.name, file=recipe.file, doc=recipe.doc, recipe=data, profile=profile, sets=tuple(sets),
        seed=recipe.seed, formula=formula, objective=objective, graph=graph, notes=notes,
        fingerprints=vars(fingerprints(data)), resolved=resolved(recipe.settings), source=_text(recipe.file),
        rldsl=__version__)
    return plan, found


def with_seed(plan: Plan, seed: int) -> Plan:
    """The same plan with other random draws: what `--set seed=N` compiles to."""
    data = {**plan.recipe, "seed": seed}
    return replace(plan, recipe=data, seed=seed, fingerprints=vars(fingerprints(data)))


def resolved(settings: Settings) -> dict[str, Any]:
    """What `auto` means for this recipe on this machine."""
    return {"dtype": _dtype() if settings.model.dtype == "auto" else settings.model.dtype}


def _dtype() -> str:
    """bfloat16 where the hardware multiplies it fast, else float32; found without loading torch."""
    if glob.glob("/dev/nvidia[0-9]*"):
        return "bfloat16"
    try:
        features = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "float32"
    return "bfloat16" if any(f in features for f in FAST_BFLOAT16) else "float32"


def _text(file: str) -> str:
    try:
        return Path(file).read_bytes().decode()
    except OSError:
        return ""
