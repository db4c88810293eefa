"""Fits pieces into lines: on one line where they fit, else broken at brackets, and inside brackets at operators."""

from __future__ import annotations

from itertools import pairwise

from .pieces import Bracket, Item, Piece, is_hard

WIDTH = 100
STEP = 2
TIGHTNESS = {"or": 0, "and": 1, "on": 2, "|": 3, "+": 4, "-": 4, "*": 5, "/": 5}


def flat(pieces: list[Piece]) -> str:
    """The pieces on one line."""
    return "".join(_assemble(pieces, set(), 0))


def fit(pieces: list[Piece], indent: int, used: int, tail: int = 0) -> list[str]:
    """The lines of some pieces. The first begins after `used` columns and is not indented here; `tail` columns
    are kept free after the last. Brackets are broken until every line fits, braces first, then the widest."""
    broken = {i for i, piece in enumerate(pieces) if is_hard(piece)}
    while True:
        lines = _assemble(pieces, broken, indent)
        widths = [used + len(lines[0])] + [len(line) for line in lines[1:]]
        widths[-1] += tail
        foldable = [i for i, piece in enumerate(pieces) if i not in broken and _can_break(piece)]
        if max(widths) <= WIDTH or not foldable:
            return lines
        broken.add(max(foldable, key=lambda i: (not isinstance(pieces[i].value, Bracket), len(flat([pieces[i]])))))


def _can_break(piece: Piece) -> bool:
    if isinstance(piece.value, Bracket):
        return piece.value.kind != "index" and bool(piece.value.items)
    return not isinstance(piece.value, str)


def _assemble(pieces: list[Piece], broken: set[int], indent: int) -> list[str]:
    lines = [""]
    for i, piece in enumerate(pieces):
        chunk = _lines_of(piece, i in broken, indent)
        lines[-1] += ("" if piece.glue else " ") + chunk[0]
        lines += chunk[1:]
    return lines


def _lines_of(piece: Piece, broken: bool, indent: int) -> list[str]:
    value = piece.value
    if isinstance(value, str):
        return value.split("\n")
    if not isinstance(value, Bracket):
        return value.lines(broken, indent)
    if not broken:
        return [value.opening + ", ".join(flat(item.parts) for item in value.items) + value.closing]
    lines = [value.opening]
    for item in value.items:
        lines += _item_lines(item, indent + STEP, "," if value.kind in ("call", "list") else "")
    return [*lines, " " * indent + value.closing]


def _item_lines(item: Item, indent: int, comma: str) -> list[str]:
    margin = " " * indent
    lines = [margin + comment for comment in item.before]
    if item.parts:
        body = _inside(item.parts, indent, len(comma))
        lines += [margin + body[0], *body[1:]]
        lines[-1] += comma
    after = list(item.after)
    if after and after[0][1]:
        lines[-1] += "  " + after.pop(0)[0]
    return lines + [margin + text for text, _ in after]


def _inside(parts: list[Piece], indent: int, tail: int) -> list[str]:
    """Inside brackets a line may end anywhere: what is too long is first cut before its loosest operators."""
    hard = any(is_hard(piece) for piece in parts)
    places = [i for i, piece in enumerate(parts) if piece.infix in TIGHTNESS]
    if not places or (not hard and indent + len(flat(parts)) + tail <= WIDTH):
        return fit(parts, indent, indent, tail)
    loosest = min(TIGHTNESS[parts[i].infix] for i in places)
    cuts = [0] + [i for i in places if TIGHTNESS[parts[i].infix] == loosest] + [len(parts)]
    lines: list[str] = []
    for begin, end in pairwise(cuts):
        segment = [Piece(parts[begin].value, True, parts[begin].infix), *parts[begin + 1:end]]
        new = fit(segment, indent, indent, tail)
        lines += ([" " * indent + new[0]] if lines else [new[0]]) + new[1:]
    return lines
