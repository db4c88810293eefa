"""Responses that the data set holds: read from a row's columns, checked before anything runs, made trajectories."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from rldsl.axes.types import Stored

from .trajectory import Request, Trajectory


class StoredError(Exception):
    """What is wrong with one row, in words that fit after "row 12: "."""


class Row(Protocol):
    """What a response is read from."""

    answer: str
    metadata: Mapping[str, Any]


def stored_texts(row: Row, stored: Stored) -> list[tuple[str, int]]:
    """Each response of a row with its verdict: 1 for a good one, else 0. StoredError where a column does not fit."""
    texts = [_text(row, column) for column in stored.responses] or [row.answer]
    if stored.pairs and texts[0] == texts[1]:
        raise StoredError("the two responses are equal, so neither can be preferred")
    if stored.label is None:
        return list(zip(texts, stored.verdicts, strict=True))
    label = _column(row, stored.label)
    if label not in (0, 1) or not isinstance(label, int):
        raise StoredError(f"column '{stored.label}' holds {label!r:.40}, a label is true or false, or 1 or 0")
    return [(text, int(label)) for text in texts]


def _text(row: Row, column: str) -> str:
    value = _column(row, column)
    if not isinstance(value, str) or not value:
        raise StoredError(f"column '{column}' holds {value!r:.40}, a response is a text that is not empty")
    return value


def _column(row: Row, column: str) -> Any:
    if column not in row.metadata:
        raise StoredError(f"there is no column '{column}'; there are: {', '.join(map(str, row.metadata)) or 'none'}")
    return row.metadata[column]


def trajectories(texts: Sequence[tuple[str, int]], respond: Callable[[str], tuple[int, ...]], request: Request,
                 version: int) -> list[Trajectory]:
    """The stored responses of one prompt as the members of its group."""
    found = []
    for sibling, (text, verdict) in enumerate(texts):
        ids = respond(text)
        found.append(Trajectory(request.group, sibling, request.row, request.prompt, ids, (0.0,) * len(ids),
                                (version,) * len(ids), "stop", text, verdict))
    return found
