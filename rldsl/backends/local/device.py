"""What training takes of the GPU."""

from __future__ import annotations

import torch

from rldsl.runtime.usage import MEGABYTE


def device_use() -> dict[str, float]:
    """Most memory allocated on the GPU since this was asked last, as a metric; nothing without a GPU."""
    if not torch.cuda.is_available():
        return {}
    most = torch.cuda.max_memory_allocated() / MEGABYTE
    torch.cuda.reset_peak_memory_stats()
    return {"system/gpu_memory_megabytes": most}
