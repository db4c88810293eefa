"""Which part of a policy is trained, counted before any weight is there."""

from __future__ import annotations

from rldsl.axes.types import Band

from .settings import Optim
from .shapes import Shape


def layers_in(count: int, part: Band | None) -> list[int]:
    """The layers l of `count` whose middle, (l + ½)/count, lies in the part; None is all of them."""
    return [i for i in range(count) if part is None or part.low <= (i + 0.5) / count <= part.high]


def trained_parameters(s: Shape, optim: Optim) -> int:
    """Parameters of the policy that get a gradient: its additions where it has a rank, else the chosen layers' own."""
    chosen = len(layers_in(s.layers, optim.layers))
    if optim.lora_rank is not None:
        return chosen * optim.lora_rank * s.edges
    return s.parameters if optim.layers is None else chosen * s.layer


def frozen_parameters(s: Shape, optim: Optim) -> int:
    """Parameters beside these, which have no gradient: all of the model's where additions to it are trained."""
    return s.parameters if optim.lora_rank is not None else s.parameters - trained_parameters(s, optim)
