"""What recording candidates costs an engine that samples: CPU time of one step and bytes of one token.

    python benchmarks/candidates.py

One step of 64 requests under top_p 0.9: the truncation itself, what the recorder adds, what makes tuples of the ids.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import torch
from torch import nn

from rldsl.backends.cluster.rollout.candidate_recorder import CandidateRecorder
from rldsl.backends.local.distribution import scaled
from rldsl.runtime.trajectory import SamplingOptions

ROWS, TIMES = 64, 3
OPTIONS = SamplingOptions(1.0, 1, top_p=0.9)


class Sampler(nn.Module):
    """Gives log-probs that are truncated already."""

    def forward(self, logps: torch.Tensor) -> tuple[None, torch.Tensor]:
        return None, logps


def main() -> None:
    torch.set_num_threads(1)
    print("| vocabulary | candidates a token, mean | truncation, ms | recording, ms | tuples, ms | bytes a token |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for vocabulary in (4096, 131072):
        for sharpness in (4.0, 1.0):
            line(torch.randn(ROWS, vocabulary, generator=torch.Generator().manual_seed(0)) * sharpness)


def line(logits: torch.Tensor) -> None:
    logps, names = scaled(logits, OPTIONS).log_softmax(-1), [str(i) for i in range(ROWS)]
    sampler = Sampler()
    recorder = CandidateRecorder(SimpleNamespace(
        sampler=SimpleNamespace(topk_topp_sampler=sampler), input_batch=SimpleNamespace(req_ids=names),
        discard_request_mask=SimpleNamespace(np=np.zeros(ROWS, bool))))
    recorded = milliseconds(lambda: sampler(logps))
    recorder.take(names)
    sampler(logps)
    found = recorder.take(names)

    def tuples() -> list[tuple[int, ...]]:
        return [tuple(ids.tolist()) for each in found.values() for ids in each]

    kept = float((logps > -torch.inf).sum(1).double().mean())
    truncated = milliseconds(lambda: scaled(logits, OPTIONS).log_softmax(-1))
    size = len(pickle.dumps(tuples())) // ROWS
    print(f"| {logits.shape[1]:,} | {kept:,.0f} | {truncated:,.1f} | {recorded:,.1f} | {milliseconds(tuples):,.1f} | "
          f"{size:,} |", flush=True)


def milliseconds(work: Callable[[], object]) -> float:
    """CPU time of a call, mean."""
    work()
    begun = time.process_time()
    for _ in range(TIMES):
        work()
    return (time.process_time() - begun) / TIMES * 1e3


if __name__ == "__main__":
    main()
