"""What the cluster's engines cannot do of a recipe, read off its choices; imports no engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rldsl.algebra.divergence import is_divergence
from rldsl.algebra.variables import KL_EXACT
from rldsl.axes.alignment import Alignment
from rldsl.compiler.facts import reads
from rldsl.compiler.recipe import Recipe
from rldsl.compiler.roles import REFERENCE, TEACHER, apart
from rldsl.compiler.shapes import shape
from rldsl.diagnostics import Diagnostic, RecipeError

ALIGNED = {"head_dtype", "replay_routing", "replay_candidates", "weights"}
"""What alignment may ask of these engines."""
UNEQUAL = {"bit_equal": "of the log-probs of vLLM and of Megatron, 7 to 8 % have equal bits, docs/measurements.md"}
"""What is known of that which it may not."""
CPU_HEADS = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)
"""Widths of attention heads that kernels of vLLM 0.32 on CPU are built for."""
LOCAL = "run it in one process, cluster { local }, with a system that takes turns"


@dataclass(frozen=True)
class Lack:
    """What the engines cannot do, and what to write instead, in words."""

    what: str
    fix: str


def lacks(recipe: Recipe) -> Iterator[Lack]:
    """What would be missing."""
    yield from _system(recipe)
    yield from _choices(recipe)
    yield from _compared_apart(recipe)
    yield from _layout(recipe)
    policy = recipe.settings.model.policy
    found = shape(policy, Path(recipe.file).parent) if policy else None
    if recipe.settings.cluster.gpus_per_node is None and found is not None and found.head_width not in CPU_HEADS:
        yield narrow(policy, found.head_width)


def narrow(policy: str, width: int) -> Lack:
    """Heads that no kernel of an engine on CPU takes."""
    return Lack(f"vLLM on CPU cannot sample from {policy}: its attention heads are {width} wide, and its kernels are "
                f"built for {', '.join(map(str, CPU_HEADS))}",
                "choose a model with such heads; toy models of width 128 and more have heads of 32 or 64")


def _system(recipe: Recipe) -> Iterator[Lack]:
    placement = recipe.placement.choice
    if recipe.schedule.choice.keeps_state() and placement.lends():
        yield Lack(f"`{placement.name}` moves responses between engines, and state stays where it is",
                   "write resume: reprefill")


def _choices(recipe: Recipe) -> Iterator[Lack]:
    """Single choices that ask the engines for what they have not."""
    for node in recipe.distribution:
        asked = node.choice.engines().keys() if isinstance(node.choice, Alignment) else set()
        if missing := [UNEQUAL.get(name, name) for name in sorted(asked - ALIGNED)]:
            yield Lack(f"its engines cannot do what {node.choice.name} asks ({', '.join(missing)})",
                       f"leave {node.choice.name} out, or {LOCAL}")
    for node in recipe.nodes():
        if node.choice.engine:
            yield Lack(f"`{node.name}` needs {node.choice.engine}", f"leave {node.name} out")


def _layout(recipe: Recipe) -> Iterator[Lack]:
    """What no rank of the trainer can do in its layout."""
    context = recipe.settings.cluster.context
    if context > 1:
        yield Lack(f"context: {context} needs attention kernels that its trainer has not",
                   "write context: 1, and a larger tensor or pipeline")


def _compared_apart(recipe: Recipe) -> Iterator[Lack]:
    """What compares whole distributions of the policy and of a model that is not on the same ranks."""
    read = {name for n in recipe.nodes() for name in reads(recipe, n)}
    compared = {REFERENCE: KL_EXACT.name in read, TEACHER: any(map(is_divergence, read))}
    for role in apart(recipe):
        if compared.get(role.role):
            yield Lack(f"it compares whole distributions with the {role.role}, which has ranks of its own "
                       f"(cluster.{role.role}), and those are never sent", f"leave cluster.{role.role} out")


def refuse(recipe: Recipe) -> None:
    """RecipeError RL406 for what these engines cannot do."""
    if needs := list(lacks(recipe)):
        raise RecipeError([Diagnostic(
            "RL406", f"the cluster backend cannot run `{recipe.name}`: {'; '.join(n.what for n in needs)}",
            why="what an engine cannot do would be left out silently",
            fix="; ".join(dict.fromkeys(n.fix for n in needs)))])
