"""What another stage of the same pipeline left, in the form that the processes of a run load."""

from __future__ import annotations

import shutil
from pathlib import Path

from rldsl.backends.local.engine import CRITIC, POLICY
from rldsl.backends.local.formats.hf_folder import write_folder
from rldsl.backends.local.formats.hf_weights import exported
from rldsl.backends.local.load import DESCRIBING, load_policy, model_folder
from rldsl.backends.local.stage import WHOLE, finished, left, model_of, take_over
from rldsl.backends.local.training.forward import Critic

MODEL = "model"
"""A run's own model folder, where the recipe's model is none, is trained before the run, or is what a stage left."""
WEIGHTS = "model.safetensors"


def write_left(spec: str, folder: Path, root: Path, target: Path) -> None:
    """The policy that a stage left, for the run in `folder`, as a Hugging Face folder. RunError RL609 where the stage
    is not finished, RecipeError RL406, RL407 as `load_policy`."""
    weights = left(spec, folder) / WHOLE[POLICY]
    if not weights.exists():
        policy, _ = load_policy(model_of(spec, folder), "float32", 0, device="cpu", root=root)
        take_over(policy, spec, folder, POLICY)
        write_folder(policy, target)
        return
    own = finished(spec, folder) / MODEL
    described = own if own.exists() else model_folder(model_of(spec, folder), root)
    target.mkdir(parents=True, exist_ok=True)
    for pattern in DESCRIBING:
        for file in described.glob(pattern):
            shutil.copyfile(file, target / file.name)
    shutil.copyfile(weights, target / WEIGHTS)


def critic_left(spec: str, folder: Path, root: Path) -> Path:
    """A file with the critic that a stage left, trunk and value head. Raises as `write_left`."""
    found = left(spec, folder) / WHOLE[CRITIC]
    if found.exists():
        return found
    own = folder / WHOLE[CRITIC]
    if not own.exists():
        from safetensors.torch import save_file

        policy, _ = load_policy(model_of(spec, folder), "float32", 0, device="cpu", root=root)
        critic = Critic(policy)
        take_over(critic, spec, folder, CRITIC)
        half = own.with_suffix(".half")
        save_file({name: t.contiguous() for name, t in exported(critic).items()}, half)
        half.replace(own)
    return own
