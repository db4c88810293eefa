"""How long a context models have, from facts at hand: the toy models, a local config.json, a table of known names."""

from __future__ import annotations

import json
from pathlib import Path

TOY = "toy:"
TOY_CONTEXT = 512
LARGEST_CONFIG = 1_000_000
"""Bytes; a longer config.json is not read."""

CONTEXTS = {
    "HuggingFaceTB/SmolLM2-135M": 8192, "HuggingFaceTB/SmolLM2-360M": 8192, "HuggingFaceTB/SmolLM2-1.7B": 8192,
    "HuggingFaceTB/SmolLM2-135M-Instruct": 8192, "HuggingFaceTB/SmolLM2-360M-Instruct": 8192,
    "HuggingFaceTB/SmolLM2-1.7B-Instruct": 8192,
    "Qwen/Qwen2.5-0.5B": 32768, "Qwen/Qwen2.5-0.5B-Instruct": 32768, "Qwen/Qwen2.5-1.5B-Instruct": 32768,
    "Qwen/Qwen2.5-7B-Instruct": 32768, "Qwen/Qwen2.5-32B": 131072, "Qwen/Qwen2.5-32B-Instruct": 32768,
    "Qwen/Qwen2.5-Math-1.5B": 4096, "Qwen/Qwen2.5-Math-7B": 4096,
    "Qwen/Qwen3-0.6B": 40960, "Qwen/Qwen3-1.7B": 40960, "Qwen/Qwen3-4B": 40960, "Qwen/Qwen3-8B": 40960,
    "meta-llama/Llama-3.1-8B": 131072, "meta-llama/Llama-3.1-8B-Instruct": 131072,
}
"""`max_position_embeddings` of published models, in tokens."""


def context_of(policy: str, project: Path) -> tuple[int, str] | None:
    """The context in tokens and where it is known from; None where it is not known, which refuses nothing.

    A relative folder is looked for in the project first, then in the working directory.
    """
    if policy.startswith(TOY):
        return TOY_CONTEXT, "toy models"
    for folder in (project / policy, Path(policy)):
        length = _positions(folder)
        if length is not None:
            return length, f"{policy}/config.json"
    return (CONTEXTS[policy], policy) if policy in CONTEXTS else None


def _positions(folder: Path) -> int | None:
    """What the folder's own config.json says; None where there is none that can be read."""
    try:
        config = folder.expanduser() / "config.json"
        if config.stat().st_size > LARGEST_CONFIG:
            return None
        data = json.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError, RuntimeError):
        return None
    length = data.get("max_position_embeddings") if isinstance(data, dict) else None
    return length if isinstance(length, int) and not isinstance(length, bool) and length > 0 else None
