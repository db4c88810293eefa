"""What the runtime asks of a tokenizer, and the character tokenizer of toy models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from rldsl.diagnostics import Diagnostic, RecipeError


class Tokenizer(Protocol):
    """Text to ids and back. `eos` are the ids that end a response; `size` counts ids; `chats` says whether the
    model knows conversations."""

    eos: frozenset[int]
    size: int
    chats: bool

    def encode(self, text: str) -> tuple[int, ...]:
        """Ids of a raw prompt, with the model's beginning-of-sequence token where it has one."""
        ...

    def reply(self, text: str) -> tuple[int, ...]:
        """Ids of a whole response: nothing that begins a sequence, and the end token last."""
        ...

    def chat(self, messages: Sequence[Mapping[str, str]]) -> tuple[int, ...]:
        """Ids of a conversation (`role`, `content`) up to where the assistant speaks."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, without special tokens."""
        ...


class CharacterTokenizer:
    """One id per printable ASCII character and newline; id 0 ends a response."""

    ALPHABET = "\n" + "".join(map(chr, range(32, 127)))

    def __init__(self) -> None:
        self.eos = frozenset({0})
        self.size = 1 + len(self.ALPHABET)
        self.chats = False
        self._characters = ("", *self.ALPHABET)
        self._ids = {character: index for index, character in enumerate(self.ALPHABET, start=1)}

    def encode(self, text: str) -> tuple[int, ...]:
        """Ids of `text`; RecipeError RL407 for a character the toy alphabet lacks."""
        try:
            return tuple(self._ids[character] for character in text)
        except KeyError as unknown:
            raise RecipeError([Diagnostic(
                "RL407", f"The toy tokenizer has no character {unknown.args[0]!r}.",
                why="Toy models read printable ASCII and newlines only.",
                fix="Choose plain-ASCII prompts for toy models, or a real model.")]) from None

    def reply(self, text: str) -> tuple[int, ...]:
        """Ids of `text` and the end; RecipeError RL407 as `encode`."""
        return (*self.encode(text), *self.eos)

    def chat(self, messages: Sequence[Mapping[str, str]]) -> tuple[int, ...]:
        """The contents, one after another: toy models know no roles."""
        return self.encode("".join(message["content"] for message in messages))

    def decode(self, ids: Sequence[int]) -> str:
        return "".join([self._characters[index] for index in ids])
