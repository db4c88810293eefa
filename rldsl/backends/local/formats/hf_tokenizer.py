"""Tokenizers of Hugging Face folders and GGUF files, through transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rldsl.diagnostics import Diagnostic, RecipeError


class HubTokenizer:
    """A transformers tokenizer behind the few calls the runtime makes.

    Texts go straight to its Rust core: transformers' own wrapping costs ten times as much per short text.
    """

    def __init__(self, inner, eos: frozenset[int]):
        self._inner, self._core = inner, inner.backend_tokenizer
        self.eos = eos
        self.size = len(inner)
        self.chats = bool(inner.chat_template)

    def encode(self, text: str) -> tuple[int, ...]:
        return tuple(self._core.encode(text, add_special_tokens=True).ids)

    def reply(self, text: str) -> tuple[int, ...]:
        """The tokenizer's own end token ends it, else the first of those that config.json names."""
        own = self._inner.eos_token_id
        end = own if own in self.eos else min(self.eos)
        return (*self._core.encode(text, add_special_tokens=False).ids, end)

    def chat(self, messages: Sequence[Mapping[str, str]]) -> tuple[int, ...]:
        """Through the model's own chat template; RecipeError RL407 where it has none."""
        if not self.chats:
            raise RecipeError([Diagnostic(
                "RL407", "The model's tokenizer has no chat template.",
                why="Base models read plain text; a conversation has no form they know.",
                fix="Give the prompts as plain text, or choose an instruction-tuned model.")])
        text = self._inner.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=True)
        # The template writes the beginning-of-sequence token itself; adding it again would double it.
        return tuple(self._core.encode(text, add_special_tokens=False).ids)

    def decode(self, ids: Sequence[int]) -> str:
        return self._core.decode(list(ids), skip_special_tokens=True)

    def save(self, folder: Path) -> None:
        """Write the tokenizer's files into `folder`."""
        self._inner.save_pretrained(folder)


def folder_tokenizer(folder: Path, config: Mapping, vocabulary: int, gguf: str | None = None) -> HubTokenizer:
    """The tokenizer in `folder`, or in its file `gguf`. RecipeError RL407 where it is missing or unreadable.

    A response ends at the tokenizer's end token and at those that config.json names.
    """
    if gguf is None and not any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer.model",
                                                                      "vocab.json")):
        raise _unreadable(folder, "there is no tokenizer.json")
    try:
        from transformers import AutoTokenizer
    except ImportError:
        raise _unreadable(folder, 'transformers is not installed; pip install "rldsl[hf]"') from None
    extra = {} if gguf is None else {"gguf_file": gguf}
    try:
        inner = AutoTokenizer.from_pretrained(folder, local_files_only=True, **extra)
    except Exception as error:
        raise _unreadable(folder, str(error).strip().split("\n")[0]) from None
    if not inner.is_fast:
        raise _unreadable(folder, "it has no tokenizer.json and cannot be converted to one")
    return HubTokenizer(inner, _ends(inner, config, folder, vocabulary))


def _ends(inner, config: Mapping, folder: Path, vocabulary: int) -> frozenset[int]:
    named = config.get("eos_token_id")
    named = named if isinstance(named, list) else [named]
    ends = {end for end in (inner.eos_token_id, *named) if isinstance(end, int)}
    if not ends:
        raise _unreadable(folder, "neither the tokenizer nor config.json names an end-of-sequence token")
    if len(inner) > vocabulary or max(ends) >= vocabulary:
        raise _unreadable(folder, f"it has {len(inner)} ids and ends {sorted(ends)}, "
                                  f"but the model embeds only {vocabulary}")
    return frozenset(ends)


def _unreadable(folder: Path, reason: str) -> RecipeError:
    return RecipeError([Diagnostic(
        "RL407", f"The tokenizer in {str(folder)!r} cannot be loaded: {reason}.",
        fix="A model folder needs the tokenizer.json that its weights were trained with.")])
