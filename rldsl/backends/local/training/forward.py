"""Quantities of recorded rows under a policy: log-probs, entropy, exact KL, divergences, and a critic's values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from rldsl.algebra.divergence import is_divergence
from rldsl.backends.local.decoder.attention import grouped_attention
from rldsl.backends.local.decoder.layout import Layout, lay_out, micro_batches
from rldsl.backends.local.decoder.model import Policy, Trunk, Weights, hidden_states
from rldsl.backends.local.decoder.ragged import gather_rows
from rldsl.backends.local.decoder.rotary import rotation
from rldsl.runtime.trajectory import SamplingOptions, Trajectory

from .logprob import token_statistics
from .teachers import Teachers, divergences

QUANTITIES = frozenset({"logp_current", "entropy", "kl_exact", "squares"})
ALIKE = 64
"""Tokens from which on, and in steps of which, kernels here round a row alike whatever is beside it."""


class Critic(Trunk):
    """A policy's trunk with one value per position; V is read before each action token."""

    def __init__(self, policy: Policy):
        super().__init__(policy.architecture, policy.compute)
        self.to(policy.device)
        source = policy.state_dict()
        self.load_state_dict({name: source[name] for name in self.state_dict()})
        self.value = nn.Parameter(torch.zeros(policy.architecture.width, device=policy.device))


def forward(policy: Policy, rows: Sequence[Trajectory], want: frozenset[str], options: SamplingOptions, *,
            grad: bool, micro_tokens: int | None = None, reference: Policy | None = None,
            teachers: Teachers | None = None, share_prompts: bool = True) -> dict[str, Tensor]:
    """The wanted quantities, float32 over all action tokens of `rows`, concatenated in their order.

    `want` ⊆ {"logp_current", "entropy", "kl_exact", "squares"} and divergences; "kl_exact" needs `reference`,
    divergences need `teachers`. Nats. Where `options` holds top_k or top_p, all are of the truncated distribution; of
    rows that record their candidates, over those. No result depends on `micro_tokens` or `share_prompts`.
    """
    compared = sorted(filter(is_divergence, want))
    _require_sides(want - set(compared), reference, bool(compared), teachers)
    with torch.set_grad_enabled(grad):
        weights = policy.weights()
        others = reference.weights() if "kl_exact" in want else None

        def alone(model: Policy, mine: Sequence[Trajectory]) -> Tensor:
            return read_states(model, model.weights(), lay_out(mine, policy.device, share_prompts))

        def measure(layout: Layout, piece: Sequence[Trajectory]) -> list[Tensor]:
            states = read_states(policy, weights, layout)
            reference_states = None
            if others is not None:
                with torch.no_grad():
                    reference_states = (read_states(reference, others, layout), others.head)
            found = token_statistics(states, weights.head, layout.targets, options, candidates=layout.candidates,
                                     entropy="entropy" in want, reference=reference_states,
                                     squares="squares" in want)
            named = {"logp_current": found.logp, "entropy": found.entropy, "kl_exact": found.kl,
                     "squares": found.squares}
            if compared:
                named |= divergences(teachers, compared, piece, states, weights, layout, options, alone)
            return [named[name] for name in sorted(want)]

        beside = company if policy.numerics.equal_bits and not compared else (lambda part: [])
        found = _each(policy.device, rows, micro_tokens, share_prompts, len(want), measure, beside)
        return dict(zip(sorted(want), found, strict=True))


def _require_sides(want: frozenset[str], reference: Policy | None, compared: bool, teachers: Teachers | None) -> None:
    if unknown := want - QUANTITIES:
        raise ValueError(f"no such quantity: {', '.join(sorted(unknown))}")
    if "kl_exact" in want and reference is None:
        raise ValueError("kl_exact needs a reference policy")
    if compared and teachers is None:
        raise ValueError("a divergence needs teachers")


def values(critic: Critic, rows: Sequence[Trajectory], *, grad: bool,
           micro_tokens: int | None = None, share_prompts: bool = True) -> Tensor:
    """V before each action token, float32, flat in the order of `rows`."""
    with torch.set_grad_enabled(grad):
        weights = critic.weights()
        return _each(critic.device, rows, micro_tokens, share_prompts, 1,
                     lambda layout, _: [read_states(critic, weights, layout).float() @ critic.value])[0]


def company(rows: Sequence[Trajectory]) -> list[Trajectory]:
    """What stands beside rows so that their bits do not depend on each other: a response so long that products are of
    many rows, whose prompt is so long that all responses begin at a multiple of `ALIKE`."""
    longest = max(len(row.prompt) for row in rows)
    prompt = -(-longest // ALIKE) * ALIKE
    return [Trajectory(-1, 0, 0, (0,) * prompt, (0,) * ALIKE, (0.0,) * ALIKE, (0,) * ALIKE, "length", "")]


def read_states(trunk: Trunk, weights: Weights, layout: Layout) -> Tensor:
    """The states that predict the action tokens of a layout, [tokens, D]."""
    factors = rotation(layout.positions, trunk.inverse)
    attend = grouped_attention(layout, trunk.architecture)
    states = hidden_states(trunk.architecture, weights, layout.ids, factors, attend)
    return gather_rows(states, layout.read)


def _each(device: torch.device, rows: Sequence[Trajectory], micro_tokens: int | None, share: bool, count: int,
          measure: Callable[[Layout, Sequence[Trajectory]], list[Tensor]],
          beside: Callable[[Sequence[Trajectory]], list[Trajectory]] = lambda part: []) -> list[Tensor]:
    """`measure` over every micro-batch, its flat results put back into the order of `rows`; what is put `beside` the
    rows of one is left out of them."""
    pieces = micro_batches(rows, micro_tokens)
    parts = [[rows[index] for index in piece] for piece in pieces]
    found = [measure(lay_out([*part, *beside(part)], device, share), part) for part in parts]
    found = [[r[:sum(len(row.tokens) for row in part)] for r in results]
             for part, results in zip(parts, found, strict=True)]
    if not found:
        return [torch.zeros(0, device=device) for _ in range(count)]
    if len(pieces) == 1:
        return found[0]
    cuts = [[len(rows[index].tokens) for index in piece] for piece in pieces]
    ordered: list[list[Tensor]] = [[torch.empty(0)] * len(rows) for _ in range(count)]
    for piece, cut, results in zip(pieces, cuts, found, strict=True):
        for slot, result in zip(ordered, results, strict=True):
            for index, part in zip(piece, result.split(cut), strict=True):
                slot[index] = part
    return [torch.cat(slot) for slot in ordered]
