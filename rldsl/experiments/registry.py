"""The runs of a project, as their folders say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rldsl.diagnostics import RecipeError, at
from rldsl.runtime.folder import FINISHED, PLAN, status
from rldsl.runtime.tracking import read_state

RUNS = "runs"
SHOWN = 4
"""Names that a message lists."""


@dataclass(frozen=True)
class Entry:
    """One run: its folder, its recipe in canonical form with fingerprints, and how it stands."""

    folder: Path
    name: str
    recipe: Mapping[str, Any]
    fingerprints: Mapping[str, str]
    seed: int
    status: str
    error: str

    @property
    def experiment(self) -> str:
        """The identity that makes two runs the same experiment."""
        return self.fingerprints["experiment"]


def entries(root: Path) -> Iterator[Entry]:
    """The runs below a project's `runs/`, the stages of pipelines among them, oldest first; folders without a readable
    plan are none."""
    found = [f.parent for pattern in (f"*/{PLAN}", f"*/*/{PLAN}") for f in (root / RUNS).glob(pattern)]
    for folder in sorted(found, key=lambda f: ((f / PLAN).stat().st_mtime, f.name)):
        entry = read_entry(folder)
        if entry is not None:
            yield entry


def read_entry(folder: Path) -> Entry | None:
    """The run in a folder; None where its plan cannot be read."""
    try:
        plan = json.loads((folder / PLAN).read_text(encoding="utf-8"))
        stands, error = status(folder)
        return Entry(folder, plan["name"], plan["recipe"], plan["fingerprints"], plan["seed"], stands, error)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def run_named(root: Path, name: str) -> Entry | None:
    """The run whose folder's name, MLflow id or experiment is or begins with `name`; None where there is none.

    RecipeError RL407 where several fit equally well.
    """
    every = list(entries(root))
    known = [(e, (e.folder.name, read_state(e.folder).run_id or "", e.experiment)) for e in every]
    same = [e for e, words in known if name in words]
    fitting = same or [e for e, words in known if any(word.startswith(name) for word in words)]
    if len(fitting) > 1:
        shown = ", ".join(e.folder.name for e in fitting[:SHOWN]) + (" …" if len(fitting) > SHOWN else "")
        raise RecipeError([at("RL407", f"{len(fitting)} runs are called `{name}`: {shown}", None,
                              why="a run is named by its folder, its MLflow id or its experiment, or their beginnings",
                              fix="write more of the name, or the whole folder")])
    return fitting[0] if fitting else None


def finished(root: Path) -> dict[str, Path]:
    """{experiment: the folder of its newest finished run}."""
    return {e.experiment: e.folder for e in entries(root) if e.status == FINISHED}


def folder_of(root: Path, name: str, experiment: str, again: bool) -> Path:
    """Where an experiment is run: one folder for each, so that whoever wants it finds what is there already. With
    `again`, the first folder beyond those that are finished."""
    first = root / RUNS / f"{name}-{experiment[:12]}"
    folder, number = first, 1
    while again and folder.exists() and status(folder)[0] == FINISHED:
        number += 1
        folder = first.with_name(f"{first.name}-{number}")
    return folder
