"""What must hold in a process before vLLM or transformers is imported there."""

from __future__ import annotations

import importlib
import os
import sys

QUIET = {"PYTHONWARNINGS": "ignore", "VLLM_LOGGING_LEVEL": "ERROR", "VLLM_NO_USAGE_STATS": "1",
         "TOKENIZERS_PARALLELISM": "false"}
ENGINE = {
    **QUIET,
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # the engine's core in the actor's own process: its state can be read back
    "VLLM_ALLOW_INSECURE_SERIALIZATION": "1",  # weights reach the workers of a tensor-parallel engine as arrays
}
ON_CPU = {
    "TORCHDYNAMO_DISABLE": "1",  # else the first answer waits seconds for a compiler that eager mode never uses
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
}
OPTIONAL = ("torchvision", "torchaudio", "torchcodec")


def engine_environment(gpu: bool) -> dict[str, str]:
    """The environment variables of a process that samples, to be set before it imports anything."""
    return ENGINE if gpu else {**ENGINE, **ON_CPU}


def trainer_environment(gpu: bool) -> dict[str, str]:
    """The environment variables of a process that trains."""
    return QUIET if gpu else {**QUIET, "OMP_NUM_THREADS": ON_CPU["OMP_NUM_THREADS"]}


def hide_broken_packages() -> None:
    """Makes packages that cannot be imported look absent.

    Beside a torch without CUDA, the wheels of torchvision and its siblings on PyPI fail while they are imported, and
    take transformers down with them, which would do without.
    """
    for name in OPTIONAL:
        if name in sys.modules:
            continue
        try:
            importlib.import_module(name)
        except (ImportError, RuntimeError, OSError):
            for loaded in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
                del sys.modules[loaded]
            sys.modules[name] = None


def prepare() -> None:
    """Call first in every process that loads a model."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    hide_broken_packages()
