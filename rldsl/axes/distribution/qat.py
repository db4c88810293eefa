"""Train the weights that are sampled with: quantised in every forward, updated in float32.

The gradient passes the rounding as if it were not there. Quantised are the projections of every layer; embedding, head
and norms are not. `mxfp4`: blocks of 32 along the input with a power-of-two scale, elements E2M1. `fp8`: blocks of
128 × 128 with a real scale, elements E4M3.
Differs from `tis`: sampling and training see one set of weights, so there is nothing to correct.
Source: OCP Microscaling Formats 1.0, sections 5.3 and 6.3 (mxfp4); DeepSeek-V3 (arXiv:2412.19437), section 3.3 (fp8);
straight-through: Bengio et al. (arXiv:1308.3432).
"""

from __future__ import annotations

from typing import Any, Literal

from rldsl.axes.alignment import Alignment
from rldsl.axes.choice import Example, one_token


class Qat(Alignment):
    positional = 1
    format: Literal["mxfp4", "fp8"]  # of the weights in every forward

    def engines(self) -> dict[str, Any]:
        return {"weights": self.format}


EXAMPLES = [Example("no factor of its own", {"format": "mxfp4"}, [one_token()], {"correction": [[1.0]]}),
            Example("nor has this one", {"format": "fp8"}, [one_token()], {"correction": [[1.0]]})]
