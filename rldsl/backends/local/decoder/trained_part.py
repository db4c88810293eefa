"""Which of a policy's parameters are trained: all, some layers, or low-rank additions to the matrices of these layers.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from rldsl.axes.types import Band
from rldsl.backends.local.draws import uniforms
from rldsl.compiler.trained_part import layers_in
from rldsl.diagnostics import Diagnostic, RecipeError

from .model import ADAPTED, Policy


@dataclass(frozen=True)
class Part:
    """`layers` are fractions of the stack, None all of them and the rest of the model; `rank` of additions, None none.
    """

    layers: Band | None = None
    rank: int | None = None
    alpha: float = 16.0


ALL = Part()
"""Everything is trained."""


def restrict(policy: Policy, part: Part, seed: int) -> None:
    """Leaves a gradient only to the parameters of the part, adding low-rank additions where it has a rank.

    Additions of a policy that has them already are left as they are. RecipeError RL204 where no layer lies in the part.
    """
    chosen = chosen_layers(len(policy.layers), part.layers)
    policy.requires_grad_(part.layers is None and part.rank is None)
    for index in chosen:
        layer = policy.layers[index]
        if part.rank is None:
            layer.requires_grad_(True)
        else:
            if not layer.adapters:
                layer.adapt(part.rank, part.alpha)
                _draw(layer.adapters, seed, index)
                layer.adapters.to(policy.device)
            layer.adapters.requires_grad_(True)


def rounded_away(policy: Policy) -> float:
    """‖Q(W + Δ) − Q(W) − Δ‖ / ‖Δ‖ over every matrix W with a low-rank addition Δ, where Q is the rounding to the dtype
    of the computation: 0 where all of the additions takes effect, 1 where nothing does; 0 where they are all zero."""
    lost = whole = 0.0
    with torch.no_grad():
        for layer in policy.layers:
            for name in sorted(n.removesuffix("_a") for n in layer.adapters if n.endswith("_a")):
                own, merged = getattr(layer, name), layer.master(name)
                used, plain = (policy.numerics.rounded(m).to(policy.compute).float() for m in (merged, own))
                added = merged - own
                lost += float((used - plain - added).square().sum())
                whole += float(added.square().sum())
    return (lost / whole) ** 0.5 if whole else 0.0


def chosen_layers(count: int, part: Band | None) -> list[int]:
    """The layers of `count` whose middle lies in the part. RecipeError RL204 where there are none."""
    found = layers_in(count, part)
    if not found:
        raise RecipeError([Diagnostic(
            "RL204", f"optim.layers is {part.low:g}..{part.high:g}, and none of the {count} layers has its middle "
            "there",
            why="nothing would be trained", fix=f"choose a wider part: each layer is {1 / count:.3g} of the stack")])
    return found


def drawn(seed: int, layer: int, name: str, rank: int, width: int) -> torch.Tensor:
    """The first A [rank, width] of an addition to a matrix of a layer: normals of standard deviation 1/√width; the same
    seed gives the same numbers anywhere."""
    row, place = torch.zeros(1, dtype=torch.int64), 1_000_000 + 10 * layer + sorted(ADAPTED).index(name)
    u = uniforms(seed, place, row, row, torch.zeros_like(row), range(rank * width))[0]
    return torch.special.ndtri(u).float().view(rank, width) / width ** 0.5


def _draw(adapters: torch.nn.ParameterDict, seed: int, layer: int) -> None:
    for name in ADAPTED:
        a = adapters[f"{name}_a"]
        with torch.no_grad():
            a.copy_(drawn(seed, layer, name, *a.shape))
