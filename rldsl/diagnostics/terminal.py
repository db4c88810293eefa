"""Draws a diagnostic for a person: the message, the source lines with the exact places underlined, why, and fix."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from itertools import groupby

from .diagnostic import Diagnostic, Label

TAB = 4
WIDEST = 160
"""Columns of a source line that are shown; a longer line is cut around what is underlined."""
BOLD, BLUE, RESET = "\x1b[1m", "\x1b[1;34m", "\x1b[0m"
SEVERITY_COLOR = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "info": "\x1b[1;36m"}


def show(diagnostic: Diagnostic, sources: Mapping[str, str], color: bool) -> str:
    """The drawing, several lines without a final newline."""
    paint = _paint if color else _plain
    accent = SEVERITY_COLOR[diagnostic.severity]
    name = paint(f"{diagnostic.severity}[{diagnostic.code}]", accent)
    head = name + paint(f": {printable(diagnostic.message)}", BOLD)
    margin = len(str(max((label.span.end_line for label in diagnostic.labels), default=0))) + 1
    lines = [head]
    for i, (file, labels) in enumerate(_by_file(diagnostic)):
        lines += _file_part(file, labels, sources, margin, "-->" if i == 0 else ":::", accent, paint)
    for word, text in (("why", diagnostic.why), ("fix", diagnostic.fix)):
        if text:
            lines.append(" " * margin + paint(" = ", BLUE) + paint(f"{word}:", BOLD) + f" {printable(text)}")
    return "\n".join(lines)


def printable(text: str) -> str:
    """`text` on one line, with characters that would steer a terminal replaced."""
    return "".join(c if c.isprintable() else " " if c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _paint(text: str, code: str) -> str:
    return f"{code}{text}{RESET}"


def _plain(text: str, code: str) -> str:
    return text


def _by_file(diagnostic: Diagnostic) -> list[tuple[str, list[Label]]]:
    """The labels of each file, the file of the primary place first."""
    primary = diagnostic.position[0]
    labels = sorted(diagnostic.labels, key=lambda x: (x.span.file != primary, x.span.file))
    return [(file, list(group)) for file, group in groupby(labels, key=lambda x: x.span.file)]


def _file_part(file: str, labels: list[Label], sources: Mapping[str, str], margin: int, arrow: str, accent: str,
               paint) -> list[str]:
    first = next((label for label in labels if label.primary), labels[0]).span
    lines = [" " * (margin - 1) + paint(arrow, BLUE) + f" {printable(file)}:{first.line}:{first.column}"]
    if not sources.get(file):
        return lines + [f"{' ' * margin} {paint('=', BLUE)} {printable(x.text)}" for x in labels if x.text]
    text = sources[file].split("\n")
    bar = " " * margin + paint(" |", BLUE)
    lines.append(bar)
    previous = None
    for number, marks in _marks(labels, text):
        if previous is not None and number > previous + 1:
            lines.append(paint("…", BLUE))
        cells, offset = _cut(_cells(text[number - 1]), marks)
        lines.append(paint(f"{number:>{margin}} |", BLUE) + " " + "".join(cells))
        lines += [bar + " " + _underline(cells, offset, mark, accent, paint) for mark in marks]
        previous = number
    return lines


Mark = tuple[int, int, str, bool]
"""On one line: first column, column after the last (from 1), label, primary."""


def _marks(labels: list[Label], text: list[str]) -> list[tuple[int, list[Mark]]]:
    """What to underline on which line. A place over several lines is marked on its first and its last."""
    found: dict[int, list[Mark]] = {}
    for label in labels:
        span = label.span
        first = min(max(span.line, 1), len(text))
        last = min(max(span.end_line, first), len(text))
        if first == last:
            found.setdefault(first, []).append((span.column, span.end_column, label.text, label.primary))
        else:
            found.setdefault(first, []).append((span.column, len(text[first - 1]) + 1, "", label.primary))
            begin = len(text[last - 1]) - len(text[last - 1].lstrip()) + 1
            found.setdefault(last, []).append((begin, span.end_column, label.text, label.primary))
    return [(number, sorted(found[number])) for number in sorted(found)]


def _cells(line: str) -> list[str]:
    """What the terminal shows for each character: tabs widened, control characters made visible."""
    cells, column = [], 0
    for character in line.rstrip("\r"):
        shown = " " * (TAB - column % TAB) if character == "\t" else character if _combines(character) \
            else printable(character)
        column += _width(shown)
        cells.append(shown)
    return cells


def _combines(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Me")


def _width(text: str) -> int:
    return sum(0 if _combines(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _cut(cells: list[str], marks: list[Mark]) -> tuple[list[str], int]:
    """The part of a long line around its first mark, and how many characters were left out before it."""
    if len(cells) <= WIDEST:
        return cells, 0
    start = max(0, min(marks[0][0] - 1 - WIDEST // 2, len(cells) - WIDEST))
    kept = cells[start:start + WIDEST]
    if start:
        kept[0] = "…"
    if start + WIDEST < len(cells):
        kept[-1] = "…"
    return kept, start


def _underline(cells: list[str], offset: int, mark: Mark, accent: str, paint) -> str:
    begin, end, label, primary = mark
    first = max(begin - 1 - offset, 0)
    before = _width("".join(cells[:first])) + max(first - len(cells), 0)
    width = max(_width("".join(cells[first:max(end - 1 - offset, 0)])), 1)
    line = ("^" if primary else "-") * width + (f" {printable(label)}" if label else "")
    return " " * before + paint(line, accent if primary else BLUE)
