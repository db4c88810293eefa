"""Every sampling setting said to vLLM in full, and read back from it."""

from __future__ import annotations

from typing import Any

from rldsl.diagnostics import Diagnostic
from rldsl.runtime.errors import RunError
from rldsl.runtime.trajectory import SamplingOptions

OFF = {"n": 1, "presence_penalty": 0.0, "frequency_penalty": 0.0, "repetition_penalty": 1.0, "min_p": 0.0,
       "min_tokens": 0, "logit_bias": None, "allowed_token_ids": None, "bad_words": [], "stop": []}
"""What no recipe turns on."""


def stated(options: SamplingOptions, *, greedy: bool, eos: frozenset[int], seed: int, done: int) -> dict[str, Any]:
    """The arguments of vLLM's SamplingParams for a stream that has `done` tokens already.

    The model folder's own idea of an end is switched off (`ignore_eos`); the recipe's tokenizer says what ends.
    """
    plain = greedy or options.temperature == 0
    return {
        **OFF, "temperature": 0.0 if plain else options.temperature,
        "top_p": 1.0 if plain or options.top_p is None else options.top_p,
        "top_k": 0 if plain or options.top_k is None else options.top_k,
        "max_tokens": options.max_tokens - done, "ignore_eos": True, "stop_token_ids": sorted(eos), "logprobs": 0,
        "seed": None if plain else seed,
    }


def require_same(wanted: dict[str, Any], effective: Any, where: str) -> None:
    """RunError RL608 for a setting that the engine replaced by its own."""
    for name, value in wanted.items():
        found = getattr(effective, name)
        same = sorted(found) == value if name == "stop_token_ids" else (found or None) == (value or None)
        if not same:
            raise differs(name, found, value, where)


def differs(name: str, found: object, wanted: object, where: str) -> RunError:
    """RL608 for one setting."""
    return RunError(Diagnostic(
        "RL608", f"{where} has {name} = {found!r} where the recipe says {wanted!r}",
        why="it would sample from another distribution than the one whose probabilities are trained on",
        fix=f"choose a {name} that this engine keeps, or another engine"))
