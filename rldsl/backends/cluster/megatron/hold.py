"""A model as one rank holds it: built, filled from its folder, and made ready to be trained or frozen."""

from __future__ import annotations

from pathlib import Path

import torch

from rldsl.backends.local.decoder.numerics import FORMATS
from rldsl.backends.local.decoder.trained_part import ALL, Part
from rldsl.backends.local.formats.hf_folder import unreadable
from rldsl.backends.local.formats.hf_weights import VALUE_HEAD
from rldsl.backends.local.training.optimizer import OptimizerSpec

from .convert import adopt, read_folder
from .model import VALUE, build
from .optimizer import Stepper
from .passes import Held
from .quantise import quantise
from .routes import forget
from .shape import read_shape
from .trained_part import restrict


def hold(folder: Path, dtype: torch.dtype, optimizer: OptimizerSpec | None, *, critic: bool = False,
         wide: bool = False, replays: bool = False, weights: Path | None = None, part: Part = ALL, seed: int = 0,
         rounding: str | None = None) -> tuple[Held, Stepper | None]:
    """This rank's part of the model in a folder, with its stepper where it has an optimizer; its weights may be in
    another place. A critic's head is zero where there is none. `part` is trained, `rounding` the format of the weights
    that it computes with. RecipeError RL407 where the weights do not fit the folder's config.json, RL204 where no layer
    is in the part."""
    shape = read_shape(folder)
    trunk = build(shape, dtype, critic=critic)
    forget()
    try:
        adopt(trunk, shape, read_folder(weights or folder), {VALUE: VALUE_HEAD} if critic else {})
    except (KeyError, ValueError) as error:
        raise unreadable(weights or folder, f"its weights do not fit its config.json: {error.args[0]}") from None
    if rounding is not None:
        quantise(trunk, shape, FORMATS[rounding])
    if optimizer is None:
        trunk.requires_grad_(False)
        return Held(trunk.eval(), shape, replays=replays, wide=wide), None
    restrict(trunk, shape, part, seed)
    stepper = Stepper(trunk, optimizer)
    return Held(trunk, shape, stepper.ddp, replays, wide), stepper
