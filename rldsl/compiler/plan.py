"""The plan: everything a run needs, as one versioned, canonical JSON file. The runtime reads this and no recipe."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rldsl.diagnostics import RecipeError, at

from . import graph as graphs
from . import objective_data
from .canonical import canonical, from_canonical, key
from .graph import Graph
from .objective import Objective
from .passes.note import Note

VERSION = 1
FOLDER = Path(".rldsl") / "plans"
FOREIGN = "was written by another version of rldsl, or is damaged"


@dataclass(frozen=True)
class Plan:
    """A compiled recipe.

    `recipe` is the canonical form (axes, settings, all defaults). `formula` is the objective as the recipe says
    it, for reports; `objective` and `graph` are what runs, after the passes. `fingerprints` has the keys objective,
    data and placement. `resolved` holds what `auto` came to mean. `source` is the text of the recipe's file.
    """

    name: str
    file: str
    doc: str
    recipe: Mapping[str, Any]
    profile: str | None
    sets: tuple[str, ...]
    seed: int
    formula: Objective
    objective: Objective
    graph: Graph
    notes: tuple[Note, ...]
    fingerprints: Mapping[str, str]
    resolved: Mapping[str, Any]
    source: str
    rldsl: str
    version: int = VERSION


def to_json(plan: Plan) -> dict[str, Any]:
    """The plan as JSON data."""
    return {**vars(plan), "sets": list(plan.sets), "formula": objective_data.to_json(plan.formula),
            "objective": objective_data.to_json(plan.objective), "graph": graphs.to_json(plan.graph),
            "notes": [[n.source, n.sentence, list(n.removed)] for n in plan.notes]}


def from_json(data: Mapping[str, Any]) -> Plan:
    """The inverse of `to_json`."""
    return Plan(**{**data, "sets": tuple(data["sets"]), "formula": objective_data.from_json(data["formula"]),
                   "objective": objective_data.from_json(data["objective"]), "graph": graphs.from_json(data["graph"]),
                   "notes": tuple(Note(source, sentence, tuple(gone)) for source, sentence, gone in data["notes"])})


def plan_path(plan: Plan, root: Path) -> Path:
    """Where a project keeps this plan: `.rldsl/plans/<name>-<8 digits>.json`, one file for each distinct recipe."""
    return root / FOLDER / f"{plan.name}-{identity(plan)[:8]}.json"


def identity(plan: Plan) -> str:
    """SHA-256 over everything that can change the run: the canonical recipe and the seed."""
    return hashlib.sha256(_text([plan.recipe, plan.seed]).encode()).hexdigest()


def _text(data: Any) -> str:
    return json.dumps(data, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_plan(plan: Plan, root: Path) -> Path:
    """Writes the plan below a project's root, all or nothing, and says where. OSError where it cannot be written."""
    return write_text(plan, plan_path(plan, root))


def write_text(plan: Plan, target: Path) -> Path:
    """Writes the plan into one file, all or nothing. OSError where it cannot be written."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".plan-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(_text(to_json(plan)))
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
    return target


def read_plan(path: Path) -> Plan:
    """A plan from its file. RecipeError (RL407) where the file is no plan of this version."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(path, f"cannot be read: {reason(error)}") from error
    if not isinstance(data, dict) or data.get("version") != VERSION:
        found = data.get("version") if isinstance(data, dict) else type(data).__name__
        raise _unreadable(path, f"has plan version {found}; this release reads version {VERSION}")
    try:
        plan = from_json(data)
        whole = key(canonical(from_canonical(plan.recipe))) == key(plan.recipe)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise _unreadable(path, reason(error)) from error
    if not whole:
        raise _unreadable(path, f"{FOREIGN}: its recipe holds what no recipe says")
    return plan


def reason(error: Exception) -> str:
    """Why a file of ours could not be read or understood, in our words."""
    match error:
        case OSError():
            return error.strerror or "it cannot be opened"
        case json.JSONDecodeError() | UnicodeDecodeError() | RecursionError():
            return "it is not JSON"
    return f"{FOREIGN}: a part of it is missing or of another kind"


def _unreadable(path: Path, what: str) -> RecipeError:
    return RecipeError([at("RL407", f"The plan {path} {what}.", None, why="A run reads its plan and nothing else.",
                           fix="Compile the recipe again and start a new run, or go on with the version of rldsl that "
                           "began this one.")])
