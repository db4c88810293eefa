"""Reads a file of recipes; what is no text of reasonable size is refused before any parsing."""

from __future__ import annotations

from pathlib import Path

from rldsl.diagnostics import Diagnostic, Span, at

MAX_CHARACTERS = 1_000_000


def read(path: str | Path) -> tuple[str, list[Diagnostic]]:
    """The text of a file with `\\n` line ends, or an empty text and why it cannot be used.

    A missing or unreadable file is RL206, bytes that are no UTF-8 text of reasonable size RL103.
    """
    name = str(path)
    try:
        with open(path, "rb") as file:
            data = file.read(4 * MAX_CHARACTERS + 1)
    except OSError as error:
        return "", [at("RL206", f"Cannot read `{name}`: {(error.strerror or 'not readable').lower()}.", None,
                       fix="Check the path.")]
    try:
        text = data[:4 * MAX_CHARACTERS].decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(data) <= 4 * MAX_CHARACTERS or error.reason != "unexpected end of data":
            return "", [_not_text(name, data, error.start)]
        text = " " * (MAX_CHARACTERS + 1)
    text = text.replace("\r\n", "\n")
    problem = size_problem(text, name)
    return ("", [problem]) if problem else (text, [])


def size_problem(text: str, path: str) -> Diagnostic | None:
    """RL103 for a text that is too large or holds a NUL character."""
    if len(text) > MAX_CHARACTERS:
        return at("RL103", f"The file is larger than {MAX_CHARACTERS:,} characters.", Span(path, 1, 1, 1, 1),
                  fix="Recipes are short: split the file, and check that this is the file you meant.")
    if "\0" in text:
        before = text[:text.index("\0")]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        return at("RL103", "The file holds a NUL character, so it is no text.", Span(path, line, column, line, column + 1),
                  fix="Check that this is the file you meant.")
    return None


def _not_text(path: str, data: bytes, offset: int) -> Diagnostic:
    line = data.count(b"\n", 0, offset) + 1
    column = len(data[data.rfind(b"\n", 0, offset) + 1:offset].decode("utf-8", "replace")) + 1
    return at("RL103", f"The file is not UTF-8 text: byte 0x{data[offset]:02x} stands at offset {offset}.",
              Span(path, line, column, line, column + 1), fix="Save the file as UTF-8.")
