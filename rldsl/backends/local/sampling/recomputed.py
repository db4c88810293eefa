"""What training computes is what sampling draws from: every step is the forward of training over all tokens so far.

Keys and values that are kept are those of another forward, whose rounding is another. Without them a step costs what a
whole pass over the responses so far does, and the log-probs are those that training finds again, bit for bit, as far as
the kernels do not round a row otherwise in other company.
Source: He et al., "Defeating nondeterminism in LLM inference" (2025).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from rldsl.backends.local.decoder.layout import lay_out
from rldsl.backends.local.decoder.model import Policy, Weights
from rldsl.backends.local.training.forward import company, read_states
from rldsl.runtime.trajectory import Request, Trajectory


class Recomputed:
    """The rows of a wave, one for each sibling of each request."""

    def __init__(self, policy: Policy, weights: Weights, requests: Sequence[Request]):
        self._policy, self._weights = policy, weights
        self._rows = [(r, list(r.prefix.tokens)) for r in requests for _ in range(r.siblings)]

    def begin(self) -> Tensor:
        """Logits [rows, V] of each row's first token."""
        return self._logits()

    def step(self, token: Tensor, position: Tensor) -> Tensor:
        """Logits [rows, V] after the next token of each row."""
        for (_, tokens), new in zip(self._rows, token.tolist(), strict=True):
            tokens.append(new)
        return self._logits()

    def keep(self, rows: Tensor) -> None:
        """Forgets all other rows."""
        self._rows = [self._rows[i] for i in rows.tolist()]

    def _logits(self) -> Tensor:
        asked = [_row(request, (*tokens, 0)) for request, tokens in self._rows]
        states = read_states(self._policy, self._weights, lay_out([*asked, *company(asked)], self._policy.device))
        ends = torch.tensor([len(row.tokens) for row in asked], device=states.device).cumsum(0)
        wanted = torch.cat((ends - 1, torch.arange(int(ends[-1]), len(states), device=states.device)))
        return (states.index_select(0, wanted) @ self._weights.head.t())[:len(asked)]


def _row(request: Request, tokens: tuple[int, ...]) -> Trajectory:
    return Trajectory(request.group, 0, request.row, request.prompt, tokens, (0.0,) * len(tokens), (0,) * len(tokens),
                      "length", "")
