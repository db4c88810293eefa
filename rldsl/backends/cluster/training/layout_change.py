"""A checkpoint that another layout of the ranks wrote: they are started once more, to write it in the form that every
layout reads."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from rldsl.backends.cluster.megatron.layout import Parallel
from rldsl.backends.cluster.placement import reserve
from rldsl.compiler.roles import TRAIN, Role
from rldsl.runtime.checkpoint import Checkpoint

from .rank import RankSpec
from .ranks import Ranks, spawner, start

FOLDER = "relaid"
"""The run's folder for a checkpoint in that form, while it is read."""


def trained(specs: Mapping[str, RankSpec]) -> Iterator[tuple[str, RankSpec]]:
    """Each model that is trained, by the name of its files, alone on the ranks of its role."""
    for spec in specs.values():
        alone = replace(spec, policy=None, critic=None, frozen={}, teachers=None)
        if spec.policy is not None and spec.policy.optimizer is not None:
            yield "policy", replace(alone, policy=spec.policy)
        if spec.critic is not None:
            yield "critic", replace(alone, critic=spec.critic)


def changed(kept: Checkpoint | None, specs: Mapping[str, RankSpec]) -> dict[str, Parallel]:
    """{model: the layout that wrote it} for a checkpoint of which one is not the run's own; else nothing. What cannot
    be read the ranks will name."""
    before = {} if kept is None else {
        name: found for name, _ in trained(specs) if (found := _written(kept.folder / f"{name}.rank-0000.pt"))}
    return before if any(before.get(name, spec.parallel) != spec.parallel for name, spec in trained(specs)) else {}


def _written(file: Path) -> Parallel | None:
    try:
        return Parallel(**torch.load(file, map_location="cpu", weights_only=True, mmap=True)["parallel"])
    except (OSError, RuntimeError, LookupError, TypeError, ValueError, EOFError, pickle.UnpicklingError):
        return None


def rewritten(kept: Checkpoint, specs: Mapping[str, RankSpec], before: Mapping[str, Parallel], gpus: float,
              folder: Path) -> Checkpoint:
    """The checkpoint as `folder`, which any layout can load. RunError RL606 where the ranks that wrote it have no room,
    RecipeError RL406 where the state of their optimizer has no such form."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, spec in trained(specs):
        if name in before:
            _write(name, replace(spec, parallel=before[name]), gpus, kept.folder, folder)
    return replace(kept, folder=folder)


def _write(name: str, spec: RankSpec, gpus: float, source: Path, target: Path) -> None:
    from ray.util.placement_group import remove_placement_group

    reserved = reserve((Role(TRAIN, spec.parallel.ranks, gpus),))
    ranks = Ranks(f"{name}'s earlier", spec.parallel.ranks, spawner(spec, partial(reserved.strategy, TRAIN), gpus))
    try:
        start([ranks])
        ranks.call("load", source)
        ranks.call("save_whole", target)
    finally:
        ranks.end()
        remove_placement_group(reserved.group)
