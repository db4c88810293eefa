"""List the project's runs, and the stages of its pipelines: by axis value, fingerprint and status."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rldsl.compiler.resolve.load import shown

from .shared.output import add_format, emit
from .shared.target import home

if TYPE_CHECKING:
    from rldsl.experiments.registry import Entry

EPILOG = ("examples: runs --status finished · runs --where 'gate.high == 0.28 and advantage == group_norm' · "
          "runs --fingerprint 3fa9")
STATUSES = ("finished", "failed", "killed", "running", "new")


def add(subparsers: argparse._SubParsersAction) -> None:
    """Declares the command's arguments."""
    parser = subparsers.add_parser("runs", help=__doc__, description=__doc__, epilog=EPILOG)
    parser.add_argument("--where", metavar="CONDITION", action="append", default=[],
                        help="what the recipe says, written as in `exclude when`; may be repeated")
    parser.add_argument("--fingerprint", metavar="HEX", default="", help="the beginning of one of its fingerprints")
    parser.add_argument("--status", choices=STATUSES, help="how it stands")
    parser.add_argument("--metric", metavar="NAME", default="held_out/score",
                        help="shown beside each run, after its last batch (default: held_out/score)")
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Prints one line a run, oldest first; 0, 1 where the condition is wrong, 4 where no run can have the metric."""
    from rldsl.experiments.measure import named
    from rldsl.experiments.query import condition, select
    from rldsl.experiments.registry import entries
    from rldsl.experiments.text_table import aligned

    found = select(entries(home("here")), where=condition(args.where), fingerprint=args.fingerprint.lower(),
                   status=(args.status or "").upper())
    values = {e.folder: _value(e.folder, args.metric) for e in found}
    if found and not any(v is not None for v in values.values()):
        named(args.metric, [e.recipe for e in found])
    rows = _rows(found, values)
    head = ("run", "recipe", "seed", "status", args.metric, "experiment")
    payload = [{"folder": str(e.folder), "recipe": e.name, "seed": e.seed, "status": e.status, "error": e.error,
                "value": values[e.folder], "fingerprints": dict(e.fingerprints), "pipeline": _pipeline(e.folder)}
               for e in found]
    return emit(args, "\n".join(aligned(head, rows) if rows else ["no runs"]), {"metric": args.metric, "runs": payload})


def _rows(found: Sequence[Entry], values: Mapping[Path, float | None]) -> list[list[str]]:
    """One row a run; the stages of a pipeline stand below a row for all of it."""
    from rldsl.experiments.member import pipeline_of
    from rldsl.runtime.folder import status

    rows, seen = [], set()
    for e in found:
        of, where = pipeline_of(e.folder), shown(e.folder)
        if of is not None:
            whole, where = e.folder.parent, f"  {e.folder.name}"
            if whole not in seen:
                seen.add(whole)
                rows.append([shown(whole), of.sweep, "", status(whole)[0].lower(), "", of.kind])
        value = "–" if values[e.folder] is None else f"{values[e.folder]:.3f}"
        rows.append([where, e.name, str(e.seed), e.status.lower(), value, e.experiment[:12]])
    return rows


def _pipeline(folder: Path) -> str | None:
    """The folder of the pipeline that a run is a stage of."""
    from rldsl.experiments.member import pipeline_of

    return None if pipeline_of(folder) is None else str(folder.parent)


def _value(folder: Path, metric: str) -> float | None:
    """The metric after the last batch; none where the run did not record it, or its journal is damaged."""
    from rldsl.experiments.measure import measure
    from rldsl.runtime.errors import RunError

    try:
        return measure(folder, metric).value
    except RunError:
        return None
