"""Inside vLLM's worker: weights replaced through its own reload, and a fingerprint of what it holds then.

Two things that vLLM 0.32 on CPU does would leave old weights behind a successful reload. Its linear layers pack their
weights into opaque handles: `keep_weights_readable`, called before the engine is built, has them compute with plain
matrices instead. Its expert layers pack their weights in place when first loaded, and not again: `_repack_experts`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import nn

from rldsl.backends.cluster.weights import Manifest, sums, unpack

from .candidate_recorder import CandidateRecorder
from .route_recorder import RouteRecorder


def keep_weights_readable() -> None:
    """From here on, vLLM's linear layers on CPU keep their weights as they are."""
    from vllm import _custom_ops
    from vllm.model_executor.layers import utils

    _custom_ops._supports_onednn = False
    utils._CPU_SGL_GEMM_MAX_WEIGHT_BYTES = -1


class WeightReceiver:
    """Mixed into vLLM's worker (`worker_extension_cls`); its methods are called through `collective_rpc`."""

    model_runner: Any

    def receive(self, manifest: Manifest, flat: np.ndarray) -> dict[str, int]:
        """Takes the weights of `flat` over; the sums of what the model holds then."""
        model = self.model_runner.get_model()
        self.model_runner.reload_weights(weights_iterator=iter(list(unpack(manifest, flat))))
        _repack_experts(model)
        return self.held()

    def record_routes(self) -> None:
        """From now on, `routes` knows the experts of every token that is computed."""
        self.route_recorder = RouteRecorder(self.model_runner)

    def routes(self, requests: list[str], kept: list[str]) -> dict[str, np.ndarray]:
        """See `RouteRecorder.take`."""
        return self.route_recorder.take(requests, kept)

    def record_candidates(self) -> None:
        """From now on, `candidates` knows what every token is chosen from."""
        self.candidate_recorder = CandidateRecorder(self.model_runner)

    def candidates(self, requests: list[str]) -> dict[str, list[np.ndarray]]:
        """See `CandidateRecorder.take`."""
        return self.candidate_recorder.take(requests)

    def held(self) -> dict[str, int]:
        """The sums of the weights that the model computes with. What two modules share counts once, as long as they
        do share it: a tied head that a reload left behind is one tensor more."""
        return sums(self.model_runner.get_model().named_parameters())


def _repack_experts(model: nn.Module) -> None:
    """Packs freshly loaded experts for the kernel that reads them, as the first load did."""
    for module in model.modules():
        kernel = getattr(getattr(module, "quant_method", None), "moe_kernel", None)
        if kernel is not None and hasattr(module, "w13_weight"):
            kernel.fused_experts.process_weights_after_loading(module)
