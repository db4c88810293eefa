"""Which sweep, ablation or pipeline a run belongs to, written into its folder before it starts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from rldsl.runtime.folder import MEMBER

SWEEP, PIPELINE = "sweep", "pipeline"


@dataclass(frozen=True)
class Member:
    """`sweep` is its name, `parent` the folder whose tracked run this one is nested under, `point` its place in the
    sweep with the `values` of what varies there. Of a pipeline (`kind`) the place is the stage."""

    sweep: str
    parent: str
    point: str
    values: Mapping[str, str]
    kind: str = SWEEP

    @property
    def place(self) -> str:
        """What `point` is called in that kind."""
        return "stage" if self.kind == PIPELINE else "point"


def member(folder: Path) -> Member | None:
    """What a run belongs to; None for one on its own."""
    file = folder / MEMBER
    return Member(**json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None


def pipeline_of(folder: Path) -> Member | None:
    """The pipeline that a run is a stage of; None for any other run."""
    of = member(folder)
    return of if of is not None and of.kind == PIPELINE else None


def write_member(folder: Path, of: Member) -> None:
    """Notes it in the run's folder."""
    (folder / MEMBER).write_text(json.dumps(asdict(of), indent=1), encoding="utf-8")
