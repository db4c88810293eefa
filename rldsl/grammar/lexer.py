"""From text to tokens. Keywords and punctuation come from the parse tables; there is no list of them here."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from rldsl.diagnostics import Diagnostic, Span, at

from .tables import load

NEWLINE = "NEWLINE"
INVALID = "INVALID"
"""A piece of text already reported; the statement that holds it is not parsed."""
MAX_ERRORS = 100
"""After so many errors in one file it is no recipe, and reading stops."""

PATTERN = re.compile(
    r'''(?P<SPACE>[ \t\r]+)
      | (?P<NEWLINE>\n)
      | (?P<COMMENT>\#[^\n]*)
      | (?P<STRING>"""(?:[^\\]|\\.)*?"""|"(?!"")(?:[^"\\\n]|\\[^\n])*")
      | (?P<NUMBER>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?:%|[A-Za-z_][A-Za-z0-9_]*)?)
      | (?P<WORD>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<MARK>==|!=|<=|>=|\.\.|[=<>+\-*/|()\[\]{},:.])
      | (?P<INVALID>'[^'\n]*'?|[^\W\d]\w*|.)''', re.VERBOSE | re.DOTALL)


class Token(NamedTuple):
    """`type` is a terminal of the grammar (keywords and punctuation are named by their own text), NEWLINE or
    INVALID. `start` is an offset into the text; lines and columns count from 1."""

    type: str
    text: str
    start: int
    line: int
    column: int
    end_line: int
    end_column: int

    def span(self, path: str) -> Span:
        """Where the token stands."""
        return Span(path, self.line, self.column, self.end_line, self.end_column)


@dataclass
class Tokens:
    """What the lexer found: the tokens, the comments, and what it could not read."""

    tokens: list[Token] = field(default_factory=list)
    comments: list[Token] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)


def tokenize(text: str, path: str) -> Tokens:
    """Cuts `text` into tokens; bad characters and unclosed strings become INVALID tokens and RL101/RL102."""
    words, found = load().words, Tokens()
    position, line, line_start = 0, 1, 0
    while position < len(text) and len(found.diagnostics) < MAX_ERRORS:
        match = PATTERN.match(text, position)
        kind, piece = match.lastgroup, match.group()
        if kind == "INVALID" and piece == '"':
            piece = _rest_of_string(text, position)
        end = position + len(piece)
        last_break = piece.rfind("\n")
        end_line = line + piece.count("\n")
        end_start = line_start if last_break < 0 else position + last_break + 1
        if kind != "SPACE":
            if kind == "WORD":
                kind = piece if piece in words else "NAME"
            token = Token(piece if kind == "MARK" else kind, piece, position, line, position - line_start + 1,
                          end_line, end - end_start + 1)
            _keep(token, found, path)
        position, line, line_start = end, end_line, end_start
    return found


def _keep(token: Token, found: Tokens, path: str) -> None:
    if token.type == "COMMENT":
        found.comments.append(token)
        return
    if token.type == INVALID:
        found.diagnostics.append(_invalid(token, path))
    found.tokens.append(token)


def _rest_of_string(text: str, start: int) -> str:
    """The text of an unclosed string: to the end of the line, without the brackets that close there."""
    if text.startswith('"""', start):
        return text[start:]
    end = text.find("\n", start)
    line = text[start:] if end < 0 else text[start:end]
    return line.rstrip(" \t\r,)]}") or line


def _invalid(token: Token, path: str) -> Diagnostic:
    span, text = token.span(path), token.text
    if text.startswith('"""'):
        opening = Span(path, token.line, token.column, token.line, token.column + 3)
        return at("RL102", 'this `"""` string is never closed', opening, "opened here",
                  fix='close it with `"""`')
    if text.startswith('"'):
        opening = Span(path, token.line, token.column, token.line, token.column + 1)
        return at("RL102", "this string is not closed on its line", opening, "opened here",
                  fix='close it with `"`; text over several lines is written between `"""`')
    if text.startswith("'"):
        return at("RL101", "a string is written between double quotes", span, fix='write `"…"`')
    if text == ";":
        return at("RL101", "`;` is not used here", span, fix="end a statement with the line, an entry with `,`")
    if not text.isascii() and text[0].isalpha():
        return at("RL101", f"the name `{text}` has letters outside ASCII", span,
                  fix="names are ASCII letters, digits and `_`; put any other text between double quotes")
    shown = f"`{text}`" if text.isprintable() and not text.isspace() else f"U+{ord(text[0]):04X}"
    return at("RL101", f"the character {shown} has no meaning here", span,
              fix="remove it, or put the text between double quotes")
