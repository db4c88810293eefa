"""Ragged lists of a batch file as padded tensors and back, for the frameworks' side.

Legend: N responses, T the longest response; a row's tokens stand at its left, padding is 0.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.metadata import version

import torch
from torch import Tensor


def padded(rows: list[list[float]]) -> Tensor:
    """[N, T] in float64."""
    longest = max(map(len, rows))
    return torch.tensor([row + [0.0] * (longest - len(row)) for row in rows], dtype=torch.float64)


def column(batch: dict, name: str) -> Tensor:
    """One per-token quantity of the batch file, [N, T]."""
    return padded([r[name] for r in batch["responses"]])


def mask(batch: dict) -> Tensor:
    """1 on tokens, 0 on padding, [N, T]."""
    return padded([[1.0] * len(r["logp_current"]) for r in batch["responses"]])


def rewards(batch: dict) -> Tensor:
    """[N]."""
    return torch.tensor([r["reward"] for r in batch["responses"]], dtype=torch.float64)


def group_size(batch: dict) -> int:
    """How many responses each prompt has; they stand together."""
    prompts = [r["prompt"] for r in batch["responses"]]
    return len(prompts) // len(set(prompts))


def answer(loss: Tensor, current: Tensor, batch: dict) -> dict:
    """The loss, and its gradient on every token's log-prob without the padding."""
    loss.backward()
    rows = zip(current.grad.tolist(), batch["responses"], strict=True)
    return {"loss": loss.item(), "gradient": [row[:len(r["logp_current"])] for row, r in rows]}


def serve(packages: tuple[str, ...], one: Callable[[dict, dict], dict]) -> None:
    """Reads {case: {"settings", "batches": {name: batch}}} from standard input, prints what `one` says to each."""
    asked = json.load(sys.stdin)
    said = {case: {name: one(want["settings"], batch) for name, batch in want["batches"].items()}
            for case, want in asked.items()}
    print(json.dumps({"versions": {p: version(p) for p in packages}, "answers": said}))
