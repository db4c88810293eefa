"""A checkpoint that another layout of the trainer wrote: its ranks are started once more, to write it in the form that
every layout reads."""

from __future__ import annotations

import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import torch

from rldsl.runtime.checkpoint import Checkpoint

from .megatron_layout import Parallel
from .placement import TRAIN, Role, reserve
from .rank import RankSpec
from .ranks import Ranks, spawner

FOLDER = "relaid"
"""The run's folder for a checkpoint in that form, while it is read."""


def other_layout(kept: Checkpoint | None, spec: RankSpec) -> Parallel | None:
    """The layout that wrote a checkpoint, where it is not the run's own; None too where that cannot be read, which the
    ranks will say."""
    file = None if kept is None else next(kept.folder.glob("*.rank-0000.pt"), None)
    if file is None:
        return None
    try:
        before = Parallel(**torch.load(file, map_location="cpu", weights_only=True, mmap=True)["parallel"])
    except (OSError, RuntimeError, LookupError, TypeError, ValueError, EOFError, pickle.UnpicklingError):
        return None
    return before if before != spec.parallel else None


def rewritten(kept: Checkpoint, spec: RankSpec, before: Parallel, gpus: float, folder: Path) -> Checkpoint:
    """The checkpoint as `folder`, which any layout can load. RunError RL606 where the ranks that wrote it have no room,
    RecipeError RL406 where the state of their optimizer has no such form."""
    from ray.util.placement_group import remove_placement_group

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    reserved = reserve((Role(TRAIN, before.ranks, gpus),))
    ranks = None
    try:
        ranks = Ranks(before.ranks, spawner(replace(spec, parallel=before),
                                            lambda number: reserved.strategy(TRAIN, number), gpus))
        ranks.call("load", kept.folder)
        ranks.call("save_whole", folder)
    finally:
        if ranks is not None:
            ranks.end()
        remove_placement_group(reserved.group)
    return replace(kept, folder=folder)
