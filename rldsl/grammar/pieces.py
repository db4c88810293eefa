"""What the formatter prints, one level above tokens: brackets with their items, and where each comment belongs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from .layout import OPERATORS, Body, Part
from .lexer import Token

WORDLIKE = frozenset({"NUMBER", "STRING"})


class Foldable(Protocol):
    """A part that is written on one line or over several."""

    def hard(self) -> bool:
        """Whether it must be written over several lines."""

    def lines(self, broken: bool, indent: int) -> list[str]:
        """Its lines; the first is not indented, the others are."""


@dataclass
class Piece:
    """One unit of a line. `glue`: no space before it. `infix`: an operator, where a long line may be cut."""

    value: str | Bracket | Foldable
    glue: bool
    infix: str = ""


@dataclass
class Item:
    """What stands between two commas, with the comments before it and after it; each says if it shares a line."""

    parts: list[Piece] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    after: list[tuple[str, bool]] = field(default_factory=list)


@dataclass
class Bracket:
    """`( … )` or `[ … ]`; a `group` is a pair of parentheses that calls nothing."""

    opening: str
    closing: str
    kind: str
    items: list[Item] = field(default_factory=list)

    def hard(self) -> bool:
        """Whether a comment or a long string inside keeps it from standing on one line."""
        return any(item.before or item.after or any(is_hard(p) for p in item.parts) for item in self.items)


def is_hard(piece: Piece) -> bool:
    """Whether the piece cannot be written on one line."""
    return "\n" in piece.value if isinstance(piece.value, str) else piece.value.hard()


class Comments:
    """The comments of a file, handed out in order, each once."""

    def __init__(self, comments: list[Token]):
        self.waiting = list(reversed(comments))

    def before(self, offset: int) -> list[Token]:
        """Those that stand before an offset of the text."""
        taken = []
        while self.waiting and self.waiting[-1].start < offset:
            taken.append(self.waiting.pop())
        return taken

    def on_line(self, line: int, limit: int) -> Token | None:
        """The next one, if it stands on this line and before `limit`."""
        if self.waiting and self.waiting[-1].line == line and self.waiting[-1].start < limit:
            return self.waiting.pop()
        return None


class PieceReader:
    """Turns a statement's tokens into pieces; `fold` makes the piece of a `{ … }`."""

    def __init__(self, tokens: list[Part], comments: Comments, fold: Callable[[Body], Foldable]):
        self.tokens = tokens
        self.comments = comments
        self.fold = fold
        self.next = 0

    def read(self) -> list[Piece]:
        """All pieces of the statement."""
        return self._parts(Item())

    def _parts(self, item: Item) -> list[Piece]:
        """The pieces up to the next comma or closing bracket. Comments between them go before the item."""
        parts: list[Piece] = []
        operand, previous = False, ""
        while self.next < len(self.tokens) and self.tokens[self.next].type not in (",", ")", "]"):
            token = self.tokens[self.next]
            if isinstance(token, Token):
                item.before += [comment.text.rstrip() for comment in self.comments.before(token.start)]
            self.next += 1
            piece, operand = self._piece(token, operand, previous)
            piece.glue = piece.glue or not parts
            parts.append(piece)
            previous = "prefix" if token.type == "-" and not piece.infix else token.type
        return parts

    def _piece(self, token: Part, operand: bool, previous: str) -> tuple[Piece, bool]:
        """The piece, and whether a complete operand stands before the next one."""
        glue = previous in (".", "..", "prefix")
        kind = token.type
        if isinstance(token, Body):
            return Piece(self.fold(token), False), True
        if kind in ("(", "["):
            attached = operand and previous not in WORDLIKE
            return Piece(self._bracket(token, attached), glue or attached), True
        if kind in (":", ".", ".."):
            return Piece(kind, True), False
        if kind in WORDLIKE:
            return Piece(token.text.replace("\r\n", "\n"), glue), True
        if kind.isidentifier() and previous == ".":
            return Piece(token.text, True), True
        if kind.isidentifier() and not operand:
            prefix = kind == "not" and self._following() not in (":", ".")
            return Piece(token.text, glue), not prefix
        infix = kind == "=" or (operand and (kind in OPERATORS or kind == "in"))
        return Piece(token.text, glue, kind if infix else ""), False

    def _following(self) -> str:
        return self.tokens[self.next].type if self.next < len(self.tokens) else ""

    def _bracket(self, opening: Token, attached: bool) -> Bracket:
        kind = {"(": "call" if attached else "group", "[": "index" if attached else "list"}[opening.type]
        bracket = Bracket(opening.text, ")" if opening.text == "(" else "]", kind)
        while True:
            item = Item()
            item.parts = self._parts(item)
            last = self.tokens[self.next - 1]
            end = self.tokens[self.next]
            for comment in self.comments.before(end.start):
                self._comment_after(item, comment, last.end_line)
            self.next += 1
            if end.type == ",":
                trailing = self.comments.on_line(end.end_line, self.tokens[self.next].start)
                if trailing:
                    self._comment_after(item, trailing, end.end_line)
            if item.parts or item.before:
                bracket.items.append(item)
            if end.type != ",":
                return bracket

    @staticmethod
    def _comment_after(item: Item, comment: Token, line: int) -> None:
        if item.parts:
            item.after.append((comment.text.rstrip(), comment.line == line))
        else:
            item.before.append(comment.text.rstrip())
