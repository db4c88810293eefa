"""A typed pipeline: recipes as stages, and what each takes from which other one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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

    @property
    def words(self) -> str:
        """As it was written."""
        return f"from {self.source}" if self.argument is None else f"{self.argument}: {self.source}"


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


def taken(settings: Mapping[str, Mapping]) -> Iterator[tuple[str, str, str]]:
    """(block, key, stage) for each thing that the settings of a canonical recipe take from a stage."""
    for block, cls in blocks().items():
        for key in from_stage(cls):
            value = settings[block][key]
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str) and text.startswith(STAGE):
                    yield block, key, text.removeprefix(STAGE)
