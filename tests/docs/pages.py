"""The documentation as data: its code blocks with where they stand, and every `rldsl` command line it shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
         *sorted((ROOT / "docs").glob("*.md")))
BLOCK = re.compile(r"^```(\w*) ?(.*)\n((?:.*\n)*?)^```$", re.MULTILINE)
INLINE = re.compile(r"`(rldsl [^`]+)`")
FRAME = "import std.quickstart\n\nrecipe framed extends quickstart {{\n{}}}\n"
FRAMED_FROM = 3
"""The line of the frame after which a fragment stands."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, the line of its first line there, its language, what else its fence says."""

    page: Path
    line: int
    language: str
    says: str
    text: str

    @property
    def id(self) -> str:
        """What a test of it is called."""
        return f"{self.page.name}:{self.line}"

    def source(self) -> str:
        """The file that the block stands for: a fragment is put into a frame."""
        return FRAME.format(self.text) if self.says == "fragment" else self.text


def blocks(language: str) -> list[Block]:
    """Every block of a language, in the order of pages."""
    return [Block(page, text.count("\n", 0, match.start()) + 2, match[1], match[2].strip(), match[3])
            for page in PAGES if page.exists() for text in [page.read_text(encoding="utf-8")]
            for match in BLOCK.finditer(text) if match[1] == language]


def files(page: Path) -> Iterator[tuple[str, str]]:
    """(path, text) of the blocks of a page that are named after a file: ```rl recipes/mine.rl"""
    for language in ("rl", "json", "python"):
        for block in blocks(language):
            if block.page == page and "." in block.says:
                yield block.says, block.text


@dataclass(frozen=True)
class Session:
    """A command line of a `console` block and what it prints; no output is shown where it is not run."""

    block: Block
    command: str
    output: tuple[str, ...]


def sessions() -> Iterator[Session]:
    """Every `$ …` of the console blocks."""
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command, *output = part.rstrip("\n").split("\n")
            yield Session(block, command, tuple(output))


def mentions() -> Iterator[tuple[str, str]]:
    """(place, command line) of every `rldsl …` in running text and in indented or shell blocks."""
    for page in PAGES:
        if not page.exists():
            continue
        for number, line in enumerate(page.read_text(encoding="utf-8").split("\n"), 1):
            for match in INLINE.finditer(line):
                yield f"{page.name}:{number}", match[1]
    for block in blocks("sh"):
        for number, line in enumerate(block.text.split("\n"), block.line):
            command = line.partition("#")[0].strip()
            if command.startswith("rldsl "):
                yield f"{block.page.name}:{number}", command
    for session in sessions():
        yield f"{session.block.id}", session.command
