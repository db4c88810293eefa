"""Inside vLLM's worker: the experts that every computed token was routed to.

vLLM 0.32 returns them itself only where its model runner has Triton kernels. Here each layer's router is listened to,
and its choices are told apart by request: a step computes the tokens of its requests one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch


class RouteRecorder:
    """Listens to all routers of a model runner's model from now on."""

    def __init__(self, runner: Any):
        self._runner, self._rows, self._step = runner, {}, []
        config = runner.model_config.hf_config
        self._active = config.num_experts_per_tok
        self._layers = [layer.mlp.gate for layer in runner.get_model().model.layers if hasattr(layer.mlp, "gate")]
        for gate in self._layers:
            gate.register_forward_hook(self._heard)
        runner.execute_model = self._told_apart(runner.execute_model)

    def take(self, requests: Sequence[str], kept: Sequence[str] = ()) -> dict[str, np.ndarray]:
        """The experts [computed tokens, layers, k] of requests, which are then forgotten; not those that are `kept`."""
        none = np.zeros((0, len(self._layers), self._active), np.int16)
        found = {r: self._rows.get(r, none) for r in requests}
        self._rows = {r: rows for r, rows in self._rows.items() if r not in found or r in kept}
        return found

    def _heard(self, gate: Any, inputs: Any, out: Any) -> None:
        self._step.append(out[0].detach().float().topk(self._active, dim=-1).indices.to(torch.int16).cpu())

    def _told_apart(self, execute: Callable[..., Any]) -> Callable[..., Any]:
        def executed(step: Any, *arguments: Any, **named: Any) -> Any:
            self._step = []
            out = execute(step, *arguments, **named)
            if self._step:
                self._share_out(step.num_scheduled_tokens, torch.stack(self._step, 1).numpy())
            return out

        return executed

    def _share_out(self, tokens: dict[str, int], chosen: np.ndarray) -> None:
        """`chosen` [tokens of the step, layers, k] to the requests; what a preempted one computes again replaces what
        it had."""
        batch, end = self._runner.input_batch, 0
        for index, request in enumerate(batch.req_ids):
            start, end = end, end + tokens[request]
            before = int(batch.num_computed_tokens_cpu[index])
            had = self._rows.get(request)
            mine = chosen[start:end]
            self._rows[request] = mine if had is None else np.concatenate([had[:before], mine])
