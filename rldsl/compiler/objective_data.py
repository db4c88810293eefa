"""An objective as JSON data: what plan.json carries, so that a run needs no recipe file."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from rldsl.algebra.expr import Expr
from rldsl.algebra.text import from_data, to_data
from rldsl.axes.base import Scorer
from rldsl.axes.judging import asked_from

from .objective import Carried, Named, Objective, Score


def to_json(objective: Objective) -> dict[str, Any]:
    """The objective as JSON data."""
    return {f.name: _encode(getattr(objective, f.name)) for f in fields(objective)}


SCORERS = {"Scorer": Scorer, "Asked": asked_from}


def from_json(data: dict[str, Any]) -> Objective:
    """The inverse of `to_json`."""
    named = ("leaves_first", "leaves_later", "keeps", "regularisers")
    out: dict[str, Any] = {k: None if v is None else from_data(v) for k, v in data.items()
                           if k not in (*named, "scores", "state", "missing")}
    for key in named:
        out[key] = tuple(Named(n, from_data(e), own) for n, e, own in data[key])
    out["state"] = tuple(Carried(choice, name, initial, from_data(e), late)
                         for choice, name, initial, e, late in data["state"])
    out["missing"] = data["missing"]
    out["scores"] = tuple(Score(label, SCORERS[kind](**scorer), part) for label, kind, scorer, part in data["scores"])
    return Objective(**out)


def _encode(x: Any) -> Any:
    match x:
        case None | float():
            return x
        case Expr():
            return to_data(x)
        case Named(name, expr, own):
            return [name, to_data(expr), own]
        case Carried(choice, name, initial, after, late):
            return [choice, name, initial, to_data(after), late]
        case Score(label, scorer, part):
            return [label, type(scorer).__name__, asdict(scorer), part]
    return [_encode(part) for part in x]
