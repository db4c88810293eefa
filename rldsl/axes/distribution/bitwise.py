"""Both engines give bit-equal log-probs: batch-invariant, deterministic kernels, and prefill equal to decoding.

κ is then 1 for every token.
Differs from `on_policy`: asks it of the engines instead of trusting them.
Source: He et al., "Defeating nondeterminism in LLM inference" (2025); DeepSeek-V4 technical report, bitwise alignment.
"""

from __future__ import annotations

from typing import Any

from rldsl.axes.alignment import Alignment
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import BIT_EQUAL


class Bitwise(Alignment):
    gives = {BIT_EQUAL}

    def engines(self) -> dict[str, Any]:
        return {"bit_equal": True}


EXAMPLES = [Example("no factor of its own", {}, [one_token()], {"correction": [[1.0]]})]
