"""The one style of recipe files. It depends on the tokens, the comments, the blank lines and on whether a brace was
followed by a new line; formatting twice changes nothing, and the syntax tree never changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from rldsl.diagnostics import RecipeError

from .fit import STEP, WIDTH, fit, flat
from .layout import Body, Statement, arrange
from .lexer import Token, tokenize
from .parser import parse
from .pieces import Comments, Piece, PieceReader, is_hard

UNREADABLE = frozenset({"RL101", "RL102", "RL103"})


def format_source(text: str, path: str) -> str:
    """The text in the one style, ending in a newline (an empty file stays empty).

    Raises: RecipeError when the text has syntax errors; it is then left alone.
    """
    problems = [d for d in parse(text, path)[1] if d.code in UNREADABLE]
    if problems:
        raise RecipeError(problems)
    found = tokenize(text, path)
    comments = Comments(found.comments)
    entries, rest = _entries(arrange(found.tokens, path).statements, comments, 0, len(text), "=", top=True)
    lines = _write(entries, rest, 0, top=True)
    return "\n".join(lines) + "\n" if lines else ""


@dataclass
class Remark:
    """A comment on a line of its own; `gap`: a blank line stands before it."""

    text: str
    gap: bool


@dataclass
class Entry:
    """One statement with its comments. `gap`: a blank line stands before it (after its own comments). `sign`: the
    word that neighbours align, `=` or in a sweep `in`."""

    sign: str
    pieces: list[Piece]
    remarks: list[Remark]
    gap: bool
    trailing: str


@dataclass
class Braces:
    """A `{ … }` with its statements: a foldable piece."""

    entries: list[Entry] = field(default_factory=list)
    rest: list[Remark] = field(default_factory=list)
    heading: str = ""
    spread: bool = False

    def hard(self) -> bool:
        """Whether the author put its items on lines of their own, or comments or long strings force it."""
        return self.spread or bool(self.rest or self.heading) or any(
            e.remarks or e.trailing or any(is_hard(p) for p in e.pieces) for e in self.entries)

    def lines(self, broken: bool, indent: int) -> list[str]:
        """`{ a, b }`, or the statements each on its line."""
        if not broken:
            inside = ", ".join(flat(entry.pieces) for entry in self.entries)
            return [f"{{ {inside} }}" if inside else "{}"]
        heading = f"{{  {self.heading}" if self.heading else "{"
        return [heading, *_write(self.entries, self.rest, indent + STEP), " " * indent + "}"]


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────

def _entries(statements: list[Statement], comments: Comments, line: int, end: int, sign: str,
             top: bool = False) -> tuple[list[Entry], list[Remark]]:
    """The statements between a line and an offset, and the comments after the last of them."""
    inside = {"sweep": "in"} if top else {}
    entries = []
    starts = [_first(statement).start for statement in statements] + [end]
    for statement, limit in zip(statements, starts[1:], strict=True):
        start = _first(statement)
        remarks, line = _remarks(comments.before(start.start), line)
        gap = line > 0 and start.line > line + 1
        fold = partial(_braces, comments=comments, sign=inside.get(start.type, sign))
        pieces = PieceReader(statement.tokens, comments, fold).read()
        line = _last_line(statement)
        trailing = comments.on_line(line, limit)
        entries.append(Entry(sign, pieces, remarks, gap, trailing.text.rstrip() if trailing else ""))
    return entries, _remarks(comments.before(end), line)[0]


def _remarks(comments: list[Token], line: int) -> tuple[list[Remark], int]:
    """Comments on lines of their own after `line`, and the line of the last."""
    found = []
    for comment in comments:
        found.append(Remark(comment.text.rstrip(), line > 0 and comment.line > line + 1))
        line = comment.line
    return found, line


def _braces(body: Body, comments: Comments, sign: str) -> Braces:
    begin, end = body.opening, body.closing
    first = _first(body.statements[0]) if body.statements else end
    heading = comments.on_line(begin.line, first.start)
    entries, rest = _entries(body.statements, comments, 0, end.start, sign)
    spread = bool(body.statements) and first.line > begin.line
    return Braces(entries, rest, heading.text.rstrip() if heading else "", spread)


def _first(statement: Statement) -> Token:
    return statement.tokens[0]


def _last_line(statement: Statement) -> int:
    last = statement.comma or statement.tokens[-1]
    return last.closing.end_line if isinstance(last, Body) else last.end_line


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────

def _write(entries: list[Entry], rest: list[Remark], indent: int, top: bool = False) -> list[str]:
    """The lines of a body (or, at the top, of a file, where what spans lines stands apart)."""
    lines: list[str] = []
    apart = False
    for run in _runs(entries, indent):
        column = max(len(flat(entry.pieces[:_sign(entry, indent)])) for entry in run)
        for entry in run:
            new = _entry_lines(entry, indent, column)
            spans = top and len(new) > 1 and any(isinstance(p.value, Braces) for p in entry.pieces)
            block = _remark_lines(entry.remarks, indent) + ([""] if entry.gap else []) + new
            if lines and (spans or apart) and block[0]:
                lines.append("")
            lines += block
            apart = spans
    return lines + _remark_lines(rest, indent)


def _remark_lines(remarks: list[Remark], indent: int) -> list[str]:
    return [line for r in remarks for line in ([""] if r.gap else []) + [" " * indent + r.text]]


def _entry_lines(entry: Entry, indent: int, column: int) -> list[str]:
    place = _sign(entry, indent)
    left = [Piece(flat(entry.pieces[:place]).ljust(column), True)] if place else []
    pieces = left + entry.pieces[place:]
    # A block that fits on its line stays there when alignment pushes it over the edge: it must not fold later.
    lines = [flat(pieces)] if place and not entry.pieces[place].infix else fit(pieces, indent, indent)
    lines[0] = " " * indent + lines[0]
    if entry.trailing:
        lines[-1] += f"  {entry.trailing}"
    return lines


def _runs(entries: list[Entry], indent: int) -> Iterator[list[Entry]]:
    """Neighbours whose signs are aligned: the same sign, no blank line or comment between them."""
    run: list[Entry] = []
    for entry in entries:
        if run and (entry.gap or entry.remarks or _mark(entry, indent) != _mark(run[-1], indent)):
            yield run
            run = []
        run.append(entry)
    if run:
        yield run


def _sign(entry: Entry, indent: int) -> int:
    """The position of the sign that is aligned: `=`, `in`, or the brace of a block on one line; 0 without one."""
    pieces = entry.pieces
    for i, piece in enumerate(pieces):
        if piece.infix == entry.sign:
            return 0 if any(is_hard(p) for p in pieces[:i]) else i
    block = len(pieces) == 2 and isinstance(pieces[1].value, Braces)
    return 1 if block and not is_hard(pieces[1]) and indent + len(flat(pieces)) <= WIDTH else 0


def _mark(entry: Entry, indent: int) -> str:
    place = _sign(entry, indent)
    return entry.pieces[place].infix or "{" if place else ""
