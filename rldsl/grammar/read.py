"""Reads a file of recipes; what is no text of reasonable size is refused before any parsing."""

from __future__ import annotations

from pathlib import Path

from rldsl.diagnostics import Diagnostic, Span, at

MAX_CHARACTERS = 1_000_000
MAX_BYTES = 4 * MAX_CHARACTERS


def read(path: str | Path) -> tuple[str, list[Diagnostic]]:
    """The text of a file with `\\n` line ends, or an empty text and why it cannot be used.

    A missing or unreadable file is RL206, bytes that are no UTF-8 text of reasonable size RL103.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        return "", [at("RL206", f"cannot read `{path}`: {(error.strerror or 'not readable').lower()}", None,
                       fix="check the path")]
    return decode(data, str(path))


def decode(data: bytes, path: str) -> tuple[str, list[Diagnostic]]:
    """As `read`, for bytes that are already here."""
    if len(data) > MAX_BYTES:
        return "", [_too_large(path)]
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        return "", [_not_text(path, data, error.start)]
    problem = size_problem(text, path)
    return ("", [problem]) if problem else (text, [])


def size_problem(text: str, path: str) -> Diagnostic | None:
    """RL103 for a text that is too large or holds a NUL character."""
    if len(text) > MAX_CHARACTERS:
        return _too_large(path)
    if "\0" in text:
        before = text[:text.index("\0")]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        return at("RL103", "the file holds a NUL character, so it is no text",
                  Span(path, line, column, line, column + 1), fix="check that this is the file you meant")
    return None


def _too_large(path: str) -> Diagnostic:
    return at("RL103", f"the file is larger than {MAX_CHARACTERS:,} characters", Span(path, 1, 1, 1, 1),
              fix="recipes are short: split the file, and check that this is the file you meant")


def _not_text(path: str, data: bytes, offset: int) -> Diagnostic:
    line = data.count(b"\n", 0, offset) + 1
    column = len(data[data.rfind(b"\n", 0, offset) + 1:offset].decode("utf-8", "replace")) + 1
    return at("RL103", f"the file is not UTF-8 text: byte 0x{data[offset]:02x} stands at offset {offset}",
              Span(path, line, column, line, column + 1), fix="save the file as UTF-8")
