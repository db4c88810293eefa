"""Inside vLLM's worker: the ids that truncation left each token to be chosen from.

vLLM hands out log-probs of a fixed number of ids a token, or of the whole vocabulary. Here its sampler is listened to:
of what it has truncated, only the ids with a probability leave the worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch


class CandidateRecorder:
    """Listens to a model runner's sampler from now on; its log-probs must be those after truncation."""

    def __init__(self, runner: Any):
        self._runner = runner
        self._sets: dict[str, list[np.ndarray]] = {}
        runner.sampler.topk_topp_sampler.register_forward_hook(self._heard)

    def take(self, requests: Sequence[str]) -> dict[str, list[np.ndarray]]:
        """The ids of each token that requests were given since they were last asked about, and of no token twice."""
        return {r: self._sets.pop(r, []) for r in requests}

    def _heard(self, sampler: Any, inputs: Any, out: tuple[torch.Tensor, torch.Tensor]) -> None:
        """Of a step, log-probs [requests, V]; a request whose prompt is not computed yet draws for nothing."""
        kept = out[1] > -torch.inf
        each = kept.sum(1).cumsum(0)[:-1].cpu().numpy()
        sets = np.split(kept.nonzero()[:, 1].to(torch.int32).cpu().numpy(), each)
        idle = self._runner.discard_request_mask.np
        for index, (request, ids) in enumerate(zip(self._runner.input_batch.req_ids, sets, strict=True)):
            if not idle[index]:
                self._sets.setdefault(request, []).append(ids)
