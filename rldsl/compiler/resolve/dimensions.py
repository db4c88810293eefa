"""The dimensions of a sweep: lists, ranges and `zip`, as the assignments that each of their values stands for."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from rldsl.compiler.show import number
from rldsl.grammar.tree import Assign, Dimension, Expr, ListExpr, Number, Path, Range, Sweep

from .fold import KINDS, Scope, describe, fold
from .report import Report
from .trail import plain, source

MOST = 2000
"""Most runs of one sweep: beyond it nobody reads the result, and the expansion itself would take minutes."""
LITERAL = re.compile(r"-?[\d.]+(e[-+]?\d+)?[A-Za-z%]*", re.IGNORECASE)
DIGITS = 12
"""Significant digits of computed values, so that 0.1..0.5 linear 5 holds 0.3 and not 0.30000000000000004."""


@dataclass(frozen=True)
class Setting:
    """One path with one of its values; `text` is the value as written, or as computed."""

    path: Path
    value: Expr
    text: str


@dataclass(frozen=True)
class Axis:
    """A dimension: at each of its places the settings that move together; there are none beyond MOST. `size` is how
    many there would be, `listed` false for a range."""

    dimension: Dimension
    size: int
    places: tuple[tuple[Setting, ...], ...]
    listed: bool

    @property
    def paths(self) -> tuple[str, ...]:
        """What moves along it."""
        return tuple(p.text for p in self.dimension.paths)


def axes(sweep: Sweep, scope: Scope, texts: Mapping[str, list[str]], report: Report) -> list[Axis]:
    """The dimensions of a sweep; those with an error (RL203, RL204, RL212, RL214) are reported and left out."""
    made = [_axis(d, scope, texts, report) for d in sweep.dimensions]
    if not sweep.dimensions:
        report.add("RL212", f"the sweep `{sweep.name}` varies nothing", sweep.name_span, "no dimension",
                   fix="write a line such as gate.high in [0.2, 0.3]")
    return [a for a in made if a is not None]


def count(found: Sequence[Axis]) -> int:
    """The number of combinations, without making any."""
    return math.prod(a.size for a in found)


def bounded(sweep: Sweep, found: Sequence[Axis], report: Report) -> bool:
    """Whether a sweep is small enough to be expanded (else RL213 with the arithmetic)."""
    total = count(found)
    if total <= MOST:
        return True
    sizes = " × ".join(f"{a.size:,}" for a in found) + " = " if len(found) > 1 else ""
    report.add("RL213", f"the sweep `{sweep.name}` has {sizes}{total:,} combinations; at most {MOST:,} are run",
               sweep.name_span, "too many", also=tuple((a.dimension.span, f"{a.size:,}") for a in found),
               why="each is a training run of its own", fix="take fewer values, or join dimensions with zip { … }")
    return False


def combinations(found: Sequence[Axis]) -> Iterator[tuple[Setting, ...]]:
    """Every combination, the last dimension moving fastest."""
    for places in product(*(a.places for a in found)):
        yield tuple(s for place in places for s in place)


def assigns(settings: Sequence[Setting]) -> tuple[Assign, ...]:
    """The statements that make a combination; a whole axis is set before one of its parameters."""
    ordered = sorted(settings, key=lambda s: len(s.path.parts))
    return tuple(Assign(s.path, s.value, s.path.span) for s in ordered)


# ── the values of one dimension ──────────────────────────────────────────────────────────────────────

def _axis(d: Dimension, scope: Scope, texts: Mapping[str, list[str]], report: Report) -> Axis | None:
    if not d.values:
        report.add("RL212", "a zip without dimensions moves nothing", d.span, "empty",
                   fix="write in it what moves together, such as gate.low in [0.1, 0.2]")
        return None
    columns = [_column(e, scope, texts, report) for e in d.values]
    if None in columns:
        return None
    lengths = {len(c) for c in columns}
    if len(lengths) > 1:
        told = ", ".join(f"{p.text} has {len(c):,}" for p, c in zip(d.paths, columns, strict=True))
        report.add("RL214", f"what moves together has as many values: {told}", d.span, "of different lengths",
                   fix="give each the same number of values, or take one of them out of the zip")
        return None
    size = len(columns[0])
    rows = zip(*columns, strict=True) if size <= MOST else ()
    places = tuple(tuple(Setting(p, e, text) for p, (e, text) in zip(d.paths, row, strict=True)) for row in rows)
    return Axis(d, size, places, any(isinstance(e, ListExpr) for e in d.values))


def _column(e: Expr, scope: Scope, texts: Mapping[str, list[str]], report: Report) -> Sequence | None:
    """(value, text) of each value of one path."""
    folded = fold(e, scope)
    match folded:
        case None:
            return None
        case ListExpr(items):
            found = [(x, _written(x, texts)) for x in items]
        case Range():
            numbers = _range(folded, scope, report)
            if numbers is None:
                return None
            found = Numbers(numbers, folded)
        case _:
            report.add("RL203", f"a dimension is a list or a range, not {describe(folded)}", e.span, "one value",
                       fix="write […], a..b, a..b linear n, a..b log n or pow2 a..b")
            return None
    if not len(found):
        report.add("RL212", "a dimension without values leaves nothing to run", e.span, "empty",
                   fix=_filled(folded))
        return None
    return found


def _written(e: Expr, texts: Mapping[str, list[str]]) -> str:
    """A value as it stands in the recipe; a number that was computed, or has a name, as it came out."""
    text = source(texts.get(e.span.file, []), e.span)
    return plain(e) if not text or (isinstance(e, Number) and not LITERAL.fullmatch(text)) else text


def _filled(e: Expr) -> str:
    """How a dimension gets a value."""
    if not isinstance(e, Range):
        return "write at least one value"
    return "write the lower end first" if e.low.value > e.high.value else "ask for at least one value"


class Numbers(Sequence):
    """The numbers of a range as (value, text), made when asked for: a range may have 10⁹ of them."""

    def __init__(self, numbers: Sequence, of: Range):
        self.numbers, self.of = numbers, of
        self.kind = of.low.kind

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, i):
        value = self.numbers[i]
        return Number(value, self.of.span, self.kind), number(value) if isinstance(value, float) else str(value)


def _range(r: Range, scope: Scope, report: Report) -> Sequence | None:
    """The numbers of a range, or None once an error is reported."""
    for end in (r.low, r.high):
        if not isinstance(end, Number):
            report.add("RL203", f"the ends of a range are numbers, not {describe(end)}", end.span, "no number")
            return None
    if r.low.kind != r.high.kind:
        report.add("RL203", f"a range from {KINDS[r.low.kind]} to {KINDS[r.high.kind]}", r.span, "two units",
                   fix="write both ends in one unit")
        return None
    low, high = r.low.value, r.high.value
    if r.scale == "none":
        return _whole(r, low, high, report)
    if r.scale == "pow2":
        return _powers(r, low, high, report)
    return _spaced(r, low, high, fold(r.count, scope), report)


def _whole(r: Range, low: float, high: float, report: Report) -> Sequence | None:
    if low == int(low) and high == int(high):
        return range(int(low), int(high) + 1)
    report.add("RL203", "`a..b` is every whole number from a to b", r.span, "not whole numbers",
               fix="say how many values: a..b linear 5 or a..b log 5")
    return None


def _powers(r: Range, low: float, high: float, report: Report) -> Sequence | None:
    if low < 1 or low != int(low) or int(low).bit_count() != 1:
        report.add("RL204", "`pow2 a..b` doubles from a, a power of two", r.low.span, "no power of two",
                   fix="write pow2 16..64, which is 16, 32, 64")
        return None
    steps = int(high // low).bit_length() if high >= low else 0
    return [int(low) << k for k in range(steps)]


def _spaced(r: Range, low: float, high: float, n: Expr | None, report: Report) -> Sequence | None:
    if not isinstance(n, Number) or n.kind != "plain" or n.value != int(n.value) or n.value < 0:
        report.add("RL203", f"`{r.scale}` is followed by how many values there are", r.count.span, "no whole number")
        return None
    size = int(n.value)
    if low > high or size == 0:
        return []
    if size > MOST:
        return range(size)  # refused for its size before a value is looked at
    if r.scale == "log" and low <= 0:
        report.add("RL204", "a logarithmic range begins above 0", r.low.span, "not above 0",
                   fix="write linear, or a low end greater than 0")
        return None
    if size == 1 and low != high:
        report.add("RL204", "one value cannot be both ends of a range", r.count.span, "at least 2",
                   fix="write a list with the one value")
        return None
    inner = [_between(r.scale, low, high, i / (size - 1)) for i in range(1, size - 1)]
    whole = [int(x) if x == int(x) and isinstance(low, int) and isinstance(high, int) else x for x in inner]
    return [low, *whole, *([high] if size > 1 else [])]


def _between(scale: str, low: float, high: float, share: float) -> float:
    value = low * (high / low) ** share if scale == "log" else low + (high - low) * share
    return float(f"{value:.{DIGITS}g}")
