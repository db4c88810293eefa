"""Compute the logits in float32, in sampling and in training, whatever the rest of the model multiplies in.

Differs from `model.dtype`: only the language-model head, where a bfloat16 logit near 20 is off by up to 0.06.
Source: MiniMax-M1 (arXiv:2506.13585), section 3.2: the output head was the source of the mismatch.
"""

from __future__ import annotations

from typing import Any, Literal

from rldsl.axes.alignment import Alignment
from rldsl.axes.choice import Example, one_token


class Head(Alignment):
    positional = 1
    dtype: Literal["fp32"]  # of the head's product

    def engines(self) -> dict[str, Any]:
        return {"head_dtype": "float32"}


EXAMPLES = [Example("no factor of its own", {"dtype": "fp32"}, [one_token()], {"correction": [[1.0]]})]
