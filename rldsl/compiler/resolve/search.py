"""The option of a sweep: `search: optuna(trials: 20)`."""

from __future__ import annotations

from rldsl.axes.searching import Search
from rldsl.grammar.tree import Sweep

from .fold import Scope, fold
from .report import Report, did_you_mean
from .values import INVALID, typed

OPTION = "search"


def search_of(sweep: Sweep, scope: Scope, report: Report) -> Search | None:
    """How the sweep's points are searched, or None where all of them are run; what is wrong is reported (RL201,
    RL203, RL204, RL205, RL208)."""
    found = None
    for entry in sweep.options:
        value = fold(entry.value, scope)
        if value is None:
            continue
        if entry.key != OPTION:
            report.add("RL201", f"a sweep has no option `{entry.key}`", entry.key_span or entry.span, "unknown option",
                       fix=did_you_mean(entry.key, (OPTION,)) or f"the only option is {OPTION}; a dimension is written "
                       f"{entry.key} in […]")
        else:
            search = typed(value, Search, OPTION, report)
            found = None if search is INVALID else search
    return found
