"""Rewrites of the objective and the graph that save work and cannot change the result, in their one order."""

from __future__ import annotations

from collections.abc import Set

from ..graph import Graph, verify
from ..objective import Objective
from .balance import Balance
from .note import Note, Pass
from .old_is_current import OldIsCurrent
from .one_forward import OneForward
from .shared_prompts import SharedPrompts
from .unread import Unread
from .zero_rows import ZeroRows

PASSES: tuple[Pass, ...] = (Unread(), OldIsCurrent(), OneForward(), SharedPrompts(), ZeroRows(), Balance())


def run_passes(objective: Objective, graph: Graph,
               off: Set[str] = frozenset()) -> tuple[Objective, Graph, tuple[Note, ...]]:
    """The objective and graph after all passes but those named in `off`, and what each did.

    ValueError for a name in `off` that is no pass, or where a graph is broken before or after a pass.
    """
    unknown = off - {p.name for p in PASSES}
    if unknown:
        raise ValueError(f"no pass is called {', '.join(sorted(unknown))}")
    notes = []
    verify(graph)
    for each in PASSES:
        if each.name not in off:
            objective, graph, note = each(objective, graph)
            verify(graph)
            notes += [note] if note else []
    return objective, graph, tuple(notes)
