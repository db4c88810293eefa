"""The model folder that every process of a run loads, so that all begin with the same weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rldsl.backends.local.data import Model, Reader
from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.local.formats.hf_folder import read_config, unreadable, write_folder
from rldsl.backends.local.formats.hf_tokenizer import folder_tokenizer
from rldsl.backends.local.formats.tokenizer import CharacterTokenizer
from rldsl.backends.local.load import load_policy, model_folder
from rldsl.backends.local.stage import model_of
from rldsl.compiler.settings import STAGE
from rldsl.compiler.toy_models import PREFIX
from rldsl.diagnostics import Diagnostic, RecipeError

from . import guard
from .capability import CPU_HEADS, narrow
from .stage_folder import write_left

CACHE = (1 << 26, 1 << 30)
"""Fewest and most bytes for keys and values on CPU."""
STREAMS = 256
"""Streams that should find room there at once."""

Start = Callable[[Policy, Any], None]
"""Trains a policy before a run; called with it and its tokenizer."""


@dataclass(frozen=True)
class Source(Reader):
    """A Hugging Face model folder, what it says of itself, and its tokenizer."""

    folder: Path
    config: Any
    tokenizer: Any

    @property
    def vocabulary(self) -> int:
        """Token ids that the model embeds."""
        return self.config["vocab_size"]

    @property
    def context(self) -> int:
        """Most tokens of prompt and response together."""
        return self.config["max_position_embeddings"]

    @property
    def head_width(self) -> int:
        """Features of one attention head."""
        return self.config.get("head_dim") or self.config["hidden_size"] // self.config["num_attention_heads"]

    def cache_bytes(self, itemsize: int) -> int:
        """Bytes of keys and values that `STREAMS` whole streams need, within bounds."""
        heads = self.config.get("num_key_value_heads") or self.config["num_attention_heads"]
        token = 2 * self.config["num_hidden_layers"] * heads * self.head_width * itemsize
        return min(max(STREAMS * self.context * token, CACHE[0]), CACHE[1])


def source(spec: str, dtype: str, seed: int, root: Path, own: Path,
           start: Start | None) -> Source:
    """The model that a recipe names, as a folder.

    A model that is no folder (a toy, a GGUF file), one that is trained before the run (`start`), and what a stage left
    (`stage:NAME`) is written to `own`, a folder in the run's; where that is complete, it is read and nothing else.
    RecipeError RL407 for what is missing or unreadable, RunError RL609 for a stage that is not finished.
    """
    guard.prepare()
    staged = spec.startswith(STAGE)
    toy = (model_of(spec, own.parent) if staged else spec).startswith(PREFIX)
    if not (own / "config.json").exists():
        if staged:
            half = _half(own)
            write_left(spec, own.parent, root, half)
            half.rename(own)
            return _read(own, toy)
        if start is None and not toy and (found := model_folder(spec, root)) is not None:
            return _read(found, toy)
        policy, tokenizer = load_policy(spec, dtype, seed, device="cpu", root=root)
        if start is not None:
            start(policy, tokenizer)
        _write(policy, own)
    return _read(own, toy)


def described(spec: str, dtype: str, seed: int, root: Path) -> Reader:
    """What a recipe's model says of its tokens; the weights of a folder are not read. RecipeError RL407 as `source`."""
    guard.prepare()
    if not spec.startswith(PREFIX) and (found := model_folder(spec, root)) is not None:
        return _read(found, toy=False)
    return Model(*load_policy(spec, dtype, seed, device="cpu", root=root))


def _write(policy: Policy, own: Path) -> None:
    """The folder is complete once it has its config.json."""
    half = _half(own)
    write_folder(policy, half)
    half.rename(own)


def _half(own: Path) -> Path:
    return own.with_name(f"{own.name}.half")


def _read(folder: Path, toy: bool) -> Source:
    folder = folder.resolve()
    config = read_config(folder)
    try:
        vocabulary = int(config["vocab_size"])
        found = Source(folder, config, None)
        _ = found.context, found.head_width, found.cache_bytes(1)
    except (KeyError, TypeError, ValueError) as error:
        raise unreadable(folder, f"its config.json lacks a size: {error}") from None
    tokenizer = CharacterTokenizer() if toy else folder_tokenizer(folder, config, vocabulary)
    return Source(folder, config, tokenizer)


def require_cpu_heads(spec: str, found: Source) -> None:
    """RecipeError RL406 for a head width that no CPU kernel of vLLM takes."""
    if found.head_width in CPU_HEADS:
        return
    lack = narrow(spec, found.head_width)
    raise RecipeError([Diagnostic("RL406", lack.what, fix=lack.fix,
                                  why="nothing else computes the policy of a run on a cluster without GPUs")])
