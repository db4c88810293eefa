"""What the stages of a pipeline came to: one row each, for people and as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

from rldsl.compiler.pipeline import PipelinePlan
from rldsl.runtime.folder import FINISHED, NEW, status
from rldsl.runtime.metrics import HELD_OUT

from .measure import Measured, measure
from .report_html import page, table
from .report_text import md_table, tabular
from .text_table import aligned

REPORT = "report.html"
HEAD = ("stage", "recipe", "takes", "status", "batches", "held-out before", "held-out after", "tokens sampled",
        "seconds")


@dataclass(frozen=True)
class Row:
    """A stage: its held-out score where it begins and where it ends, and what it cost. Seconds are those of its
    batches, evaluation and start left out."""

    stage: str
    recipe: str
    takes: str
    status: str
    batches: int
    before: float | None
    after: float | None
    tokens: int
    seconds: float


def rows(plan: PipelinePlan, folder: Path) -> list[Row]:
    """The stages in running order; RunError RL609 for a damaged journal."""
    return [_row(stage.name, stage.plan.name, "; ".join(stage.takes), folder / stage.name)
            for stage in plan.stages]


def _row(name: str, recipe: str, takes: str, folder: Path) -> Row:
    there = folder.is_dir()
    found = measure(folder, HELD_OUT.name) if there else Measured()
    stands = status(folder)[0] if there else NEW
    begun = bool(found.points) and found.points[0][0] == 0
    return Row(name, recipe, takes, stands, found.batches, found.points[0][1] if begun else None,
               found.value if stands == FINISHED else None, int(found.generated), found.seconds)


def cells(row: Row) -> list[str]:
    """A row as text."""
    scores = ["–" if x is None else f"{x:.3f}" for x in (row.before, row.after)]
    return [row.stage, row.recipe, row.takes or "–", row.status.lower(), f"{row.batches:,}", *scores,
            f"{row.tokens:,}", f"{row.seconds:.0f}"]


def to_text(name: str, found: Sequence[Row]) -> str:
    """Aligned columns."""
    return "\n".join([name, *(f"  {line}" for line in aligned(HEAD, [cells(r) for r in found]))])


def to_markdown(name: str, found: Sequence[Row]) -> str:
    """A table of GitHub's Markdown."""
    return "\n".join([f"# {name}", "", *md_table(HEAD, [cells(r) for r in found])])


def to_latex(name: str, found: Sequence[Row]) -> str:
    """A `booktabs` table."""
    return "\n".join(tabular(HEAD, [cells(r) for r in found], f"The stages of {name}"))


def to_html(name: str, found: Sequence[Row]) -> str:
    """A page with the table and a link to each stage's own report."""
    links = "".join(f"<li><a href='{escape(r.stage)}/{REPORT}'>{escape(r.stage)}</a></li>" for r in found)
    return page(escape(name), [f"<h1>{escape(name)}</h1>", table(HEAD, [cells(r) for r in found]),
                               f"<h2>Stages</h2><ul>{links}</ul>"])


def to_json(name: str, found: Sequence[Row]) -> dict[str, Any]:
    """As data."""
    return {"pipeline": name, "stages": [asdict(r) for r in found]}
