"""A short supervised start for models that know nothing yet: the answers of problems that RL never sees."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.local.training.forward import forward
from rldsl.runtime.trajectory import SamplingOptions, Trajectory

ROWS, LR, CLIP_GRAD = 64, 2e-3, 1.0
"""Problems per step, peak learning rate of AdamW, bound on the gradient norm."""
WARM_UP = 20
PLAIN = SamplingOptions(1.0, 1)


def warm_start(policy: Policy, examples: Sequence[tuple[tuple[int, ...], tuple[int, ...]]], steps: int) -> float:
    """Trains `policy` for `steps` steps on (prompt, answer) token ids, end of sequence included; the last loss in
    nats per token. Examples are taken in order, round and round, so that the result depends on nothing else."""
    policy.requires_grad_(True)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=LR, fused=True, weight_decay=0.0)
    loss = torch.zeros(())
    for step in range(steps):
        rows = [_row(i, examples[i % len(examples)]) for i in range(step * ROWS, (step + 1) * ROWS)]
        for group in optimizer.param_groups:
            group["lr"] = LR * min(1.0, (step + 1) / WARM_UP) * (1 - step / steps)
        loss = -forward(policy, rows, frozenset({"logp_current"}), PLAIN, grad=True)["logp_current"].mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), CLIP_GRAD)
        optimizer.step()
    policy.zero_grad(set_to_none=True)
    return float(loss.detach())


def _row(index: int, example: tuple[tuple[int, ...], tuple[int, ...]]) -> Trajectory:
    prompt, answer = example
    return Trajectory(index, 0, index, prompt, answer, (0.0,) * len(answer), (0,) * len(answer), "stop", "")
