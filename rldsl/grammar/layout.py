"""From tokens to nested statements: brackets are matched, and what is never closed is reported at its opening."""

from __future__ import annotations

from dataclasses import dataclass, field

from rldsl.diagnostics import Diagnostic, Span, at

from .lexer import INVALID, NEWLINE, Token

MAX_DEPTH = 100
CLOSER = {"(": ")", "[": "]", "{": "}"}
OPERATORS = frozenset({"+", "-", "*", "/", "|", "on", "and", "or", "not", "..", "=="})
FILE_WORDS = frozenset({"import", "let", "recipe", "sweep", "ablate", "pipeline"})


@dataclass
class Body:
    """`{ … }`: one token for the automaton, with the statements inside."""

    opening: Token
    statements: list[Statement] = field(default_factory=list)
    closing: Token | None = None
    type: str = "BODY"

    def span(self, path: str) -> Span:
        """From the opening to the closing brace."""
        last = self.closing or self.opening
        return self.opening.span(path).to(last.span(path))


@dataclass
class Statement:
    """The tokens between two separators. `broken`: already reported, not to be parsed."""

    tokens: list[Part] = field(default_factory=list)
    broken: bool = False
    comma: Token | None = None


Part = Token | Body


@dataclass
class Layout:
    """The statements of a file, with what is wrong in its brackets; `too_deep` stops everything else."""

    statements: list[Statement]
    diagnostics: list[Diagnostic]
    too_deep: bool = False


def arrange(tokens: list[Token], path: str) -> Layout:
    """Nests the tokens. When brackets do not match, a second reading trusts the indentation, which finds the
    opening that was really forgotten; the reading with fewer complaints wins."""
    layout = _Reader(path, by_indentation=False).read(tokens)
    if layout.diagnostics and not layout.too_deep:
        indented = _Reader(path, by_indentation=True).read(tokens)
        return indented if len(indented.diagnostics) <= len(layout.diagnostics) else layout
    return layout


@dataclass
class _Opening:
    token: Token
    indent: int
    operators: int = 0


class _Reader:
    """One pass over the tokens with a stack of open brackets, and of the bodies whose statements are filled."""

    def __init__(self, path: str, by_indentation: bool):
        self.path = path
        self.by_indentation = by_indentation
        self.diagnostics: list[Diagnostic] = []
        self.openings: list[_Opening] = []
        self.lists: list[list[Statement]] = [[]]
        self.current: list[Statement] = [Statement()]
        self.indent = 1
        self.operators = 0
        self.string_lost = False

    def read(self, tokens: list[Token]) -> Layout:
        self.tokens = tokens
        line_starts = True
        for self.index, token in enumerate(tokens):
            if line_starts and token.type != NEWLINE:
                self.indent, line_starts = token.column, False
                self._close_forgotten(token)
            self._take(token)
            line_starts = line_starts or token.type == NEWLINE
            if self._depth() > MAX_DEPTH:
                return Layout([], [self._too_deep(token)], too_deep=True)
        self._at_end()
        return Layout(self.lists[0], self.diagnostics)

    # ── one token ────────────────────────────────────────────────────────────────────────────────────

    def _take(self, token: Token) -> None:
        kind = token.type
        if kind in CLOSER:
            self._open(token)
        elif kind in (")", "]", "}"):
            self._close(token)
        elif kind == NEWLINE:
            self._newline()
        elif kind == "," and not self._in_brackets():
            self._comma(token)
        else:
            if kind == INVALID:
                self.string_lost = self.string_lost or token.text.startswith('"')
                self.current[-1].broken = True
            self._count(kind)
            self.current[-1].tokens.append(token)

    def _newline(self) -> None:
        if self.string_lost:
            while self._in_brackets():
                self._drop_opening()
            self.string_lost = False
        if not self._in_brackets():
            self._end_statement()

    def _comma(self, token: Token) -> None:
        self.current[-1].comma = token
        self._end_statement()

    def _end_statement(self) -> None:
        statement = self.current[-1]
        if statement.tokens or statement.comma or statement.broken:
            self.lists[-1].append(statement)
            self.current[-1] = Statement()
        self.operators = 0

    def _count(self, kind: str) -> None:
        if kind in OPERATORS:
            self.operators += 1
        elif kind == ",":
            self.operators = 0

    def _depth(self) -> int:
        return len(self.openings) + self.operators + sum(o.operators for o in self.openings)

    # ── brackets ─────────────────────────────────────────────────────────────────────────────────────

    def _in_brackets(self) -> bool:
        return bool(self.openings) and self.openings[-1].token.type != "{"

    def _open(self, token: Token) -> None:
        self.openings.append(_Opening(token, self.indent, self.operators))
        self.operators = 0
        if token.type == "{":
            self.current[-1].tokens.append(Body(token))
            self.lists.append(self.current[-1].tokens[-1].statements)
            self.current.append(Statement())
        else:
            self.current[-1].tokens.append(token)

    def _close(self, token: Token) -> None:
        if any(CLOSER[o.token.type] == token.type for o in self._reachable(token)):
            while CLOSER[self.openings[-1].token.type] != token.type:
                self._report_unclosed()
        if not self.openings:
            self._closes_nothing(token)
        elif CLOSER[self.openings[-1].token.type] == token.type:
            self.operators = self.openings[-1].operators
            self._pop(token)
        elif self._in_brackets() and token.type != "}":
            self._mismatch(token)
        else:
            self._closes_nothing(token)

    def _reachable(self, token: Token) -> list[_Opening]:
        """The openings that a closing bracket may belong to: `)` and `]` never reach past a brace."""
        braces = [i for i, o in enumerate(self.openings) if o.token.type == "{"]
        first = braces[-1] if braces else 0
        return self.openings[first if token.type == "}" else first + bool(braces):]

    def _pop(self, closing: Token | None) -> None:
        opening = self.openings.pop()
        if opening.token.type == "{":
            self._end_statement()
            self.current.pop()
            self.lists.pop()
            self.current[-1].tokens[-1].closing = closing
        elif closing:
            self.current[-1].tokens.append(closing)
        self.operators = opening.operators

    def _drop_opening(self) -> None:
        """Gives up on the innermost opening. A block keeps what it holds, an expression cannot be read."""
        if self._in_brackets():
            self.current[-1].broken = True
        self._pop(None)

    # ── what is wrong ────────────────────────────────────────────────────────────────────────────────

    def _close_forgotten(self, token: Token) -> None:
        """At the start of a line: what stands here shows that brackets before it were meant to be closed."""
        in_file = token.type in FILE_WORDS and self._type_after(self.index) in ("NAME", "STRING")
        if self._in_brackets() and (in_file or self._starts_item()):
            while self._in_brackets():
                self._report_unclosed()
            self._end_statement()
        if in_file and token.column == 1 and self.openings:
            while self.openings:
                self._report_unclosed()
            self._end_statement()
        if self.by_indentation:
            self._close_by_indentation(token)

    def _close_by_indentation(self, token: Token) -> None:
        closes = token.type in (")", "]", "}")
        while self.openings and self.openings[-1].indent >= token.column + closes:
            self._report_unclosed()
            self._end_statement()

    def _type_after(self, index: int) -> str:
        return self.tokens[index + 1].type if index + 1 < len(self.tokens) else NEWLINE

    def _starts_item(self) -> bool:
        """Whether the line begins `path =` or `name {`, which no bracket can hold."""
        index = self.index
        while self._type_after(index) in (".", "[", "]", "NAME", "NUMBER"):
            index += 1
        return self._type_after(index) in ("=", "{") and self.tokens[self.index].type not in ("=", "{")

    def _report_unclosed(self) -> None:
        opening = self.openings[-1].token
        if not self.string_lost:
            self.diagnostics.append(at(
                "RL102", f"this `{opening.text}` is never closed", opening.span(self.path), "opened here",
                fix=f"close it with `{CLOSER[opening.text]}`"))
        self._drop_opening()

    def _closes_nothing(self, token: Token) -> None:
        self.diagnostics.append(at("RL101", f"this `{token.text}` closes nothing", token.span(self.path),
                                   fix="remove it, or write the opening bracket that belongs to it"))
        self.current[-1].broken = True

    def _mismatch(self, token: Token) -> None:
        opening = self.openings[-1].token
        wanted = CLOSER[opening.text]
        self.diagnostics.append(at(
            "RL101", f"`{opening.text}` is closed by `{token.text}`", token.span(self.path), f"expected `{wanted}`",
            also=((opening.span(self.path), "opened here"),), fix=f"write `{wanted}`"))
        self._drop_opening()

    def _at_end(self) -> None:
        """The end of the file: only the innermost forgotten opening is worth a message."""
        if self.openings:
            self._report_unclosed()
        while self.openings:
            self._drop_opening()
        self._end_statement()

    def _too_deep(self, token: Token) -> Diagnostic:
        return at("RL103", f"the text is nested more than {MAX_DEPTH} levels deep here", token.span(self.path),
                  fix="name parts with `let`, or write fewer operators in one expression")
