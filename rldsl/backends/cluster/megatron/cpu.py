"""Megatron-core on a machine without a GPU: calls that name CUDA are sent to the CPU, no number is computed otherwise.

Where CUDA is available nothing here has an effect. Megatron 0.16 names the device literally in its pipeline, its
optimizer and its checkpoints.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

CPU = torch.device("cpu")
TYPES = {torch.float32: "torch.cuda.FloatTensor", torch.bfloat16: "torch.cuda.BFloat16Tensor",
         torch.float16: "torch.cuda.HalfTensor"}
"""What Megatron's optimizer expects `Tensor.type()` to answer."""


class _Nothing:
    """A stream or event of a device that works in order: waiting for it is done at once."""

    def __init__(self, *args: Any, **kwargs: Any): ...

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *error: Any) -> None: ...

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None


class _ToCpu(TorchFunctionMode):
    """Tensor operations that name CUDA run on the CPU. A mode holds for the thread that entered it."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if _is_cuda(kwargs.get("device")):
            kwargs["device"] = CPU
        if function is torch.Tensor.cuda:
            return args[0]
        if function is torch.Tensor.to:
            args = tuple(CPU if _is_cuda(a) else a for a in args)
        if function is torch.Tensor.type and len(args) == 1 and not kwargs:
            return TYPES.get(args[0].dtype) or function(*args)
        return function(*args, **kwargs)


def _is_cuda(device: Any) -> bool:
    return (isinstance(device, str) and device.startswith("cuda")) or (
        isinstance(device, torch.device) and device.type == "cuda")


def prepare() -> None:
    """Once per process and before Megatron is imported: redirects what is not a tensor operation."""
    os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")  # Megatron compiles small functions, which costs seconds
    if torch.cuda.is_available():
        return
    torch.cuda.current_device = lambda: CPU
    torch.cuda.set_device = lambda device: None
    torch.cuda.synchronize = lambda device=None: None
    torch.cuda.Stream = torch.cuda.Event = _Nothing
    for name in ("current_stream", "default_stream", "stream"):
        setattr(torch.cuda, name, _Nothing)
    from megatron.core.transformer.moe import moe_utils

    moe_utils.te_general_gemm = None  # named there only where TransformerEngine is installed


@contextlib.contextmanager
def devices() -> Iterator[None]:
    """Around every call into Megatron, in whichever thread."""
    with contextlib.nullcontext() if torch.cuda.is_available() else _ToCpu():
        yield
