"""Simulations side by side: one table for a terminal, and one self-contained HTML page with curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from rldsl.runtime.chart import Series, draw
from rldsl.runtime.chart_svg import STYLE, svg
from rldsl.runtime.metrics import written
from rldsl.runtime.report import PAGE_STYLE

from .measure import Outcome

COLUMNS: tuple[tuple[str, str, Callable[[Outcome], float | None], str], ...] = (
    ("batches", "number", lambda o: o.batches, "batches trained"),
    ("s/batch", "number", lambda o: o.seconds, "seconds per batch"),
    ("tokens/s", "number", lambda o: o.rate, "trained tokens per second"),
    ("idle", "share", lambda o: o.idle, "share of all devices' time without work"),
    ("sampling", "share", lambda o: o.idle_sampling, "idle share of the slots that sample"),
    ("training", "share", lambda o: o.idle_training, "idle share of devices that only train"),
    ("age", "number", lambda o: o.age, "mean age of trained responses, in batches"),
    ("oldest", "number", lambda o: o.oldest, "greatest age, in batches"),
    ("length", "number", lambda o: o.length, "mean length of trained over launched responses"),
    ("early", "number", lambda o: o.early, "the same over the first tenth of the batches"),
    ("kept", "share", lambda o: o.kept, "share of sampled tokens that was trained"),
    ("of bound", "share", lambda o: o.bound, "share of the best possible speed for this work"),
)


def table(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """A heading and one row for each system."""
    rows = [[o.name, *(written(value(o), style) for _, style, value, _ in COLUMNS)] for o in outcomes]
    return [["system", *(title for title, *_ in COLUMNS)], *rows]


def text(outcomes: Sequence[Outcome]) -> str:
    """The table, aligned."""
    rows = table(outcomes)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    first, *rest = widths
    return "\n".join("  ".join([name.ljust(first), *(c.rjust(w) for c, w in zip(cells, rest, strict=True))])
                     for name, *cells in rows)


def page(outcomes: Sequence[Outcome], assumptions: dict[str, str]) -> str:
    """The page: assumptions, table, and for each system how fast it trains and how old its data is."""
    heading, *rows = (["".join(f"<t{cell}>{escape(x)}</t{cell}>" for x in row) for row, cell in
                       zip(table(outcomes), "h" + "d" * len(outcomes), strict=True)])
    legend = "".join(f"<tr><td>{escape(title)}</td><td class='small'>{escape(says)}</td></tr>"
                     for title, _, _, says in COLUMNS)
    facts = "".join(f"<tr><td>{escape(k)}</td><td>{escape(v)}</td></tr>" for k, v in assumptions.items())
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return (f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>simulated schedules</title>"
            f"<style>{PAGE_STYLE}{STYLE}</style></head><body><h1>Simulated schedules</h1><table>{facts}</table>"
            f"<h2>Side by side</h2><table><tr>{heading}</tr>{body}</table>"
            f"<h2>Trained tokens over seconds</h2><p class='small'>the strong line is the named system, the faint ones "
            f"are the others</p><div class='charts'>{''.join(_curves(outcomes))}</div>"
            f"<h2>Age of trained responses</h2><p class='small'>share of responses over their age in batches</p>"
            f"<div class='charts'>{''.join(_ages(outcomes))}</div><h2>Columns</h2><table>{legend}</table></body>"
            "</html>\n")


def _curves(outcomes: Sequence[Outcome]) -> list[str]:
    return _charts(outcomes, lambda o: o.curve)


def _ages(outcomes: Sequence[Outcome]) -> list[str]:
    most = max((o.oldest or 0 for o in outcomes), default=0)
    return _charts(outcomes, lambda o: tuple((float(age), o.ages.get(age, 0.0)) for age in range(most + 1)))


def _charts(outcomes: Sequence[Outcome], line: Callable[[Outcome], tuple[tuple[float, float], ...]]) -> list[str]:
    drawings = [draw(o.name, [Series(line(o)), *(Series(line(other), faint=True) for other in outcomes
                                                 if other is not o)]) for o in outcomes]
    return [svg(d) for d in drawings if d is not None]
