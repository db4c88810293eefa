"""The options of an ablation: `{ order: [gate, sampling], seeds: 3 }`, or `order: all`."""

from __future__ import annotations

from dataclasses import dataclass

from rldsl.axes.discover import AXES
from rldsl.axes.types import Count
from rldsl.compiler.settings import blocks
from rldsl.grammar.tree import Ablate, Expr, ListExpr, Name, String

from .fold import Scope, describe, fold
from .report import Report, did_you_mean
from .values import INVALID, typed

ALL = "all"
OPTIONS = ("order", "seeds", "metric")


@dataclass(frozen=True)
class Options:
    """`order` names axes and blocks with the place each was written at; `every` asks for all orders."""

    order: tuple[Name, ...] = ()
    every: bool = False
    seeds: int | None = None
    metric: str | None = None


def options(ablation: Ablate, scope: Scope, report: Report) -> Options:
    """What an ablation says of itself; what is wrong with it is reported (RL110, RL201, RL203, RL204)."""
    found: dict = {}
    for entry in ablation.options:
        value = fold(entry.value, scope)
        if value is None:
            continue
        if entry.key not in OPTIONS:
            report.add("RL201", f"an ablation has no option `{entry.key}`" if entry.key else
                       "the options of an ablation are written `key: value`", entry.key_span or entry.span,
                       "unknown option", fix=did_you_mean(entry.key or "", OPTIONS))
        elif entry.key == "seeds":
            number = typed(value, Count, "seeds", report)
            found |= {} if number is INVALID else {"seeds": number}
        elif entry.key == "metric":
            found |= _metric(value, report)
        else:
            found |= _order(value, report)
    return Options(**found)


def _metric(e: Expr, report: Report) -> dict:
    if isinstance(e, String):
        return {"metric": e.value}
    report.add("RL203", f"`metric` is a text in quotes, not {describe(e)}", e.span, "no text",
               fix='write metric: "held_out/score"')
    return {}


def _order(e: Expr, report: Report) -> dict:
    if isinstance(e, Name) and e.id == ALL:
        return {"every": True}
    items = e.items if isinstance(e, ListExpr) else ()
    if not items or not all(isinstance(x, Name) for x in items):
        report.add("RL203", f"`order` is a list of axes and blocks, or `{ALL}`", e.span, describe(e),
                   fix="write order: [gate, sampling]")
        return {}
    known, seen = (*AXES, *(b for b in blocks() if b not in AXES)), {}
    for x in items:
        if x.id not in known:
            report.add("RL201", f"`{x.id}` is neither an axis nor a block", x.span, "unknown",
                       fix=did_you_mean(x.id, known))
        elif seen.setdefault(x.id, x.span) is not x.span:
            report.add("RL110", f"`{x.id}` stands twice in the order", x.span, "the second time",
                       also=((seen[x.id], "the first time"),), fix="keep one of them")
    return {"order": tuple(items)}
