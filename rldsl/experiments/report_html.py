"""A comparison as one self-contained HTML page, with curves and their bands."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rldsl.runtime.chart_svg import STYLE as CHART_STYLE
from rldsl.runtime.metrics import metric
from rldsl.runtime.report import PAGE_STYLE

from .band import curve, svg
from .comparison import YES, Comparison
from .findings import HEAD, attribution, cells, changes, evidence, limits
from .report_text import FORBIDS

STYLE = """
td.number, th.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
tr.yes td { font-weight: 600; } .wide { overflow-x: auto; }
"""


def to_html(c: Comparison) -> str:
    """The whole page; what the recipes say is escaped."""
    name = escape(c.expansion.name)
    parts = [f"<h1>{name}</h1>"]
    for section in c.sections:
        marks = ["yes" if r.verdict == YES else "" for r in section.rows]
        parts += [f"<h2>{escape(section.title)}</h2><p class='small'>{escape(section.says)}; rows in bold can be told "
                  "from noise</p>", table(HEAD, [cells(r) for r in section.rows], marks)]
    picture = svg(metric(c.metric).title, {label: curve(runs) for label, runs in c.curves.items()})
    if picture:
        parts.append(f"<h2>Curves</h2><p class='small'>over batches: mean over seeds, the band is its 95 % interval</p>"
                     f"{picture}")
    shares = attribution(c)
    if shares is not None:
        parts += ["<h2>Attribution</h2>", f"<p>{escape(shares[0])}</p>", table(("change", "gain"), shares[1])]
    if told := changes(c):
        parts.append("<h2>What each row changes</h2>" + _list(f"{label}: {' '.join(says)}" for label, says in told))
    parts += ["<h2>Evidence</h2>", table(("", ""), evidence(c)), f"<h2>{FORBIDS}</h2>", _list(limits(c))]
    return page(name, parts)


def page(name: str, parts: Sequence[str]) -> str:
    """Parts of HTML as one page."""
    return (f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{name}</title>"
            "<meta name='viewport' content='width=device-width, initial-scale=1'>"
            f"<style>{PAGE_STYLE}{CHART_STYLE}{STYLE}</style></head><body>{''.join(parts)}</body></html>\n")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], marks: Sequence[str] = ()) -> str:
    """Escaped cells; `marks` are the classes of the rows."""
    wide = len(head) > 2

    def line(row: Sequence[str], tag: str, mark: str = "") -> str:
        inner = "".join(f"<{tag}{' class=number' if i and wide else ''}>{escape(x)}</{tag}>" for i, x in enumerate(row))
        return f"<tr{f' class={mark}' if mark else ''}>{inner}</tr>"

    body = "".join(line(row, "td", marks[i] if marks else "") for i, row in enumerate(rows))
    top = line(head, "th") if any(head) else ""
    return f"<div class='wide'><table>{top}{body}</table></div>"


def _list(items) -> str:
    return f"<ul>{''.join(f'<li>{escape(x)}</li>' for x in items)}</ul>"
