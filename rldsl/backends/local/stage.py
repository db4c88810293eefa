"""What another stage of the same pipeline left: its final weights, its critic, the responses it collected.

The stages of a pipeline's run have folders beside one another, each called by the stage's name. A stage that ran in
one process left state dictionaries of its models, one that ran on a cluster their tensors under Hugging Face names.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from rldsl.backends.local.decoder.model import Policy, Trunk
from rldsl.backends.local.decoder.trained_part import Part, restrict
from rldsl.backends.local.formats.hf_folder import reader
from rldsl.backends.local.formats.hf_weights import adopt, exported
from rldsl.compiler.canonical import from_canonical
from rldsl.compiler.plan import Plan, read_plan
from rldsl.compiler.recipe import Recipe
from rldsl.compiler.settings import STAGE
from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.runtime import checkpoint as checkpoints
from rldsl.runtime.errors import RunError
from rldsl.runtime.folder import FINISHED, PLAN, status
from rldsl.runtime.stages_collect import COLLECTED

from .engine import CRITIC, POLICY
from .load import load_policy

WHOLE = {POLICY: "policy.safetensors", CRITIC: "critic.safetensors"}
"""What a checkpoint of a cluster holds of each model, for whoever begins with it."""


def named_policy(spec: str, plan: Plan, root: Path, folder: Path) -> tuple[Policy, Any]:
    """The policy that a setting of the run in `folder` names, and its tokenizer; `stage:NAME` is what that stage left.

    Raises as `load_policy`; RunError RL609 where the stage is not finished.
    """
    if not spec.startswith(STAGE):
        return load_policy(spec, plan.resolved["dtype"], plan.seed, root=root)
    policy, tokenizer = load_policy(model_of(spec, folder), plan.resolved["dtype"], plan.seed, root=root)
    take_over(policy, spec, folder, POLICY)
    return policy, tokenizer


def model_of(spec: str, folder: Path) -> str:
    """The model that a stage trained, as its recipe names it."""
    return read_plan(finished(spec, folder) / PLAN).recipe["settings"]["model"]["policy"]


def left(spec: str, folder: Path) -> Path:
    """The final checkpoint of a stage. RunError RL609 where the stage is not finished, or it is damaged."""
    return checkpoints.newest(finished(spec, folder) / "checkpoints").folder


def take_over(model: Trunk, spec: str, folder: Path, file: str) -> None:
    """Gives `model` the weights in a file of a stage's final checkpoint. RunError RL609 where they do not fit."""
    found = left(spec, folder)
    try:
        if (found / WHOLE[file]).exists():
            adopt(model, reader(found, WHOLE[file]))
        else:
            _load(model, torch.load(found / file, map_location=model.device, weights_only=True), spec, folder)
    except (OSError, RuntimeError, KeyError, ValueError, RecipeError) as error:
        raise RunError(Diagnostic(
            "RL609", f"what the stage `{spec.removeprefix(STAGE)}` left cannot be taken over: {found}",
            why=f"{type(error).__name__}: {error}", fix="run the pipeline again from its beginning")) from error


def _load(model: Trunk, state: Mapping[str, torch.Tensor], spec: str, folder: Path) -> None:
    """Low-rank additions that the stage trained are merged."""
    if not any(".adapters." in name for name in state):
        model.load_state_dict(state)
        return
    optim = from_canonical(read_plan(finished(spec, folder) / PLAN).recipe).settings.optim
    twin = Policy(model.architecture, model.compute).to(model.device)
    restrict(twin, Part(optim.layers, optim.lora_rank, optim.lora_alpha), seed=0)
    twin.load_state_dict(state)
    adopt(model, exported(twin).__getitem__)


def with_collected(recipe: Recipe, folder: Path) -> Recipe:
    """The recipe with the file of collected responses in the place of the stage that data.train names, if it does."""
    data = recipe.settings.data
    if data.train is None or not data.train.startswith(STAGE):
        return recipe
    file = (finished(data.train, folder) / COLLECTED).resolve()
    settings = dataclasses.replace(recipe.settings, data=dataclasses.replace(data, train=str(file)))
    return dataclasses.replace(recipe, settings=settings)


def finished(spec: str, folder: Path) -> Path:
    """The folder of a stage that is at its end. RunError RL609 where it is not."""
    name = spec.removeprefix(STAGE)
    found = folder.resolve().parent / name
    stands = status(found)[0] if found.is_dir() else "not there"
    if stands != FINISHED:
        raise RunError(Diagnostic("RL609", f"the stage `{name}` is not finished: {found} is {stands.lower()}",
                                  why="a stage begins with what another one left at its end",
                                  fix="run or resume the pipeline that both belong to"))
    return found
