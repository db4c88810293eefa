"""What the cluster's engines cannot do of a recipe, read off its choices; imports no engine."""

from __future__ import annotations

from rldsl.algebra.divergence import is_divergence
from rldsl.algebra.variables import KL_EXACT, PRETRAIN
from rldsl.axes.alignment import Alignment
from rldsl.axes.judging import ModelSource
from rldsl.axes.structure import Beginning
from rldsl.compiler.facts import reads
from rldsl.compiler.recipe import Recipe
from rldsl.compiler.roles import REFERENCE, TEACHER, apart
from rldsl.diagnostics import Diagnostic, RecipeError

ALIGNED = {"head_dtype", "replay_routing"}
"""What alignment may ask of these engines."""


def lacks(recipe: Recipe) -> list[str]:
    """What would be missing, in words."""
    found = []
    for node in recipe.distribution:
        asked = node.choice.engines().keys() if isinstance(node.choice, Alignment) else set()
        if asked - ALIGNED:
            found.append(f"its engines cannot do what {node.choice.name} asks ({', '.join(sorted(asked - ALIGNED))})")
    if recipe.schedule.choice.keeps_state() and recipe.placement.choice.lends():
        found.append(f"`{recipe.placement.choice.name}` moves responses between engines, and state stays where it is")
    if recipe.placement.choice.serves() > 1:
        found.append(f"`{recipe.placement.choice.name}` serves several versions at once")
    found += [f"`{n.name}` needs {n.choice.engine}" for n in recipe.nodes() if n.choice.engine]
    found += [f"`{n.name}` lets a {n.choice.begin().policy} begin responses, and its engines hold the policy only"
              for n in recipe.sampling if isinstance(n.choice, Beginning) and n.choice.begin().policy != "current"]
    optim = recipe.settings.optim
    asking = [n.name for n in recipe.nodes() if isinstance(n.choice, ModelSource)]
    if asking:
        found.append(f"`{asking[0]}` asks a model in the trainer's process")
    if any(PRETRAIN.name in reads(recipe, n) for n in recipe.nodes()):
        found.append(f"it reads {PRETRAIN.name}")
    found += _compared_apart(recipe)
    if optim.layers is not None or optim.lora_rank is not None:
        found.append("it trains a part of the policy")
    found += _layout(recipe)
    return found


def _layout(recipe: Recipe) -> list[str]:
    """What no rank of the trainer can do in its layout."""
    cluster, sampler, found = recipe.settings.cluster, recipe.sampling[0].choice, []
    if cluster.context > 1:
        found.append(f"context: {cluster.context} needs attention kernels that its trainer has not")
    if cluster.tensor > 1 and (sampler.top_k is not None or (sampler.top_p is not None and sampler.top_p < 1)):
        found.append(f"no rank of tensor: {cluster.tensor} sees the whole vocabulary, as top_p or top_k needs")
    return found


def _compared_apart(recipe: Recipe) -> list[str]:
    """What compares whole distributions of the policy and of a model that is not on the same ranks."""
    read = {name for n in recipe.nodes() for name in reads(recipe, n)}
    compared = {REFERENCE: KL_EXACT.name in read, TEACHER: any(map(is_divergence, read))}
    return [f"it compares whole distributions with the {role.role}, which has ranks of its own (cluster.{role.role}), "
            "and those are never sent" for role in apart(recipe) if compared.get(role.role)]


def refuse(recipe: Recipe) -> None:
    """RecipeError RL406 for what these engines cannot do."""
    if needs := lacks(recipe):
        raise RecipeError([Diagnostic(
            "RL406", f"the cluster backend cannot run `{recipe.name}`: {'; '.join(needs)}",
            why="what an engine cannot do would be left out silently",
            fix="choose what it can, or run the recipe in one process: cluster { local }")])
