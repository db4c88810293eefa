"""The built-in toy models by name: `toy:llama-2x64` is a Llama of 2 layers and width 64."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rldsl.diagnostics import RecipeError, Span, at

PREFIX = "toy:"
KINDS = ("llama", "qwen2", "qwen3")
CONTEXT, VOCABULARY = 512, 97
"""The tokens that toy models are made for, and the ids of their character tokenizer."""
MOST_LAYERS, UNIT, WIDEST = 64, 16, 4096


@dataclass(frozen=True)
class ToySizes:
    """Sizes of a toy model, in features, heads and layers; its MLP is 4 times as wide, its head is its embedding."""

    kind: str
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_width: int


def toy_sizes(spec: str, span: Span | None = None) -> ToySizes:
    """The sizes that `toy:KIND-LAYERSxWIDTH` names. RecipeError RL201 for a name that no toy model has."""
    match = re.fullmatch(rf"{PREFIX}({'|'.join(KINDS)})-(\d{{1,4}})x(\d{{1,5}})", spec, re.ASCII)
    layers, width = (int(match[2]), int(match[3])) if match else (0, 0)
    if not match or not 1 <= layers <= MOST_LAYERS or width % UNIT or not UNIT <= width <= WIDEST:
        raise RecipeError([at(
            "RL201", f"There is no toy model {spec!r}.", span, "unknown model",
            fix=f"Write {PREFIX}KIND-LAYERSxWIDTH with KIND {', '.join(KINDS)}, 1 to {MOST_LAYERS} layers and a width "
                f"that is a multiple of {UNIT} up to {WIDEST}, such as {PREFIX}llama-2x64.")])
    head_width = _head_width(width)
    heads = width // head_width
    return ToySizes(match[1], layers, width, heads, heads // 2 if heads % 2 == 0 else heads, head_width)


def _head_width(width: int) -> int:
    fitting = 16 if width < 128 else 32 if width < 512 else 64
    return UNIT if width % fitting else fitting
