"""The ways in which a choice may be written: what can be offered of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields, replace
from typing import Any

from rldsl.axes import discover
from rldsl.axes.choice import Choice
from rldsl.axes.traits import Trait

from .settings import hints
from .typehints import words


def ways(cls: type[Choice], **kept: Any) -> Iterator[Choice]:
    """With its defaults, as in its examples, and with every word that decides what it needs or gives.

    `kept` are values that parameters of these names have whatever the way.
    """
    kept = {name: value for name, value in kept.items() if name in cls.__dataclass_fields__}
    if all(f.default is not MISSING or f.default_factory is not MISSING or f.name in kept for f in fields(cls)):
        yield cls(**kept)
    name = cls.__module__.rpartition(".")[2].removesuffix("_")
    shown = [cls(**{**example.params, **kept}) for example in discover.examples(cls.axis, name)]
    yield from shown
    for parameter in cls.decided_by.values() if shown else ():
        yield from (replace(shown[0], **{parameter: word}) for word in words(hints(cls).get(parameter)))


def shortly(choice: Choice, *traits: Trait | None, every_word: bool = False) -> str:
    """Its name and, in brackets, the words that are no defaults: those that decide on some traits, or every one."""
    said, deciding = [], {type(choice).decided_by.get(trait) for trait in traits}
    for index, f in enumerate(fields(choice)):
        value = getattr(choice, f.name)
        if (every_word or f.name in deciding) and value != f.default and value in words(hints(type(choice))[f.name]):
            unnamed = index == len(said) < choice.positional
            said.append(value if unnamed else f"{f.name.removesuffix('_')}: {value}")
    return f"`{choice.name}({', '.join(said)})`" if said else f"`{choice.name}`"
