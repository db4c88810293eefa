"""A typed pipeline: recipes as stages, and what each takes from which other one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rldsl.diagnostics import Span

from .recipe import Recipe
from .settings import STAGE, blocks, from_stage


@dataclass(frozen=True)
class Link:
    """What a stage takes: the setting `block.key` holds what the stage `source` left. `takes` says what that is, as in
    `FromStage`; `argument` is how it was written, none for `from`; `span` where."""

    block: str
    key: str
    takes: str
    argument: str | None
    source: str
    span: Span


@dataclass(frozen=True)
class Stage:
    """One stage. `recipe` has everything the stage says and takes already in it."""

    name: str
    recipe: Recipe
    links: tuple[Link, ...]
    span: Span


@dataclass(frozen=True)
class Pipeline:
    """The stages in an order in which each comes after all that it takes something from."""

    name: str
    file: str
    span: Span
    stages: tuple[Stage, ...]

    def stage(self, name: str) -> Stage | None:
        """The stage of that name, or None."""
        return next((s for s in self.stages if s.name == name), None)


def told(links: Sequence[Link]) -> tuple[str, ...]:
    """What a stage takes, in words: one text for `from` and for each argument, `teachers: a, b`."""
    sources: dict[str | None, list[str]] = {}
    for link in links:
        sources.setdefault(link.argument, []).append(link.source)
    return tuple(f"from {names[0]}" if argument is None else f"{argument}: {', '.join(names)}"
                 for argument, names in sources.items())


def taken(settings: Mapping[str, Mapping]) -> Iterator[tuple[str, str, str]]:
    """(block, key, stage) for each thing that the settings of a canonical recipe take from a stage."""
    for block, cls in blocks().items():
        for key in from_stage(cls):
            value = settings[block][key]
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str) and text.startswith(STAGE):
                    yield block, key, text.removeprefix(STAGE)
