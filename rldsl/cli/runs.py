"""List the project's runs: by axis value, fingerprint and status."""

from __future__ import annotations

import argparse
from pathlib import Path

from rldsl.compiler.resolve.load import shown

from .shared.output import add_format, emit
from .shared.target import home

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
    """Prints one line a run, oldest first; 0, or 1 where the condition is wrong."""
    from rldsl.experiments.query import condition, select
    from rldsl.experiments.registry import entries
    from rldsl.experiments.text_table import aligned

    found = select(entries(home("here")), where=condition(args.where), fingerprint=args.fingerprint.lower(),
                   status=(args.status or "").upper())
    values = [_value(e.folder, args.metric) for e in found]
    rows = [[shown(e.folder), e.name, str(e.seed), e.status.lower(), "–" if v is None else f"{v:.3f}",
             e.experiment[:12]] for e, v in zip(found, values, strict=True)]
    lines = aligned(("run", "recipe", "seed", "status", args.metric, "experiment"), rows) if rows else ["no runs"]
    payload = [{"folder": str(e.folder), "recipe": e.name, "seed": e.seed, "status": e.status, "error": e.error,
                "value": v, "fingerprints": dict(e.fingerprints)} for e, v in zip(found, values, strict=True)]
    return emit(args, "\n".join(lines), {"metric": args.metric, "runs": payload})


def _value(folder: Path, metric: str) -> float | None:
    """The metric after the last batch; none where the run did not record it, or its journal is damaged."""
    from rldsl.experiments.measure import measure
    from rldsl.runtime.errors import RunError

    try:
        return measure(folder, metric).value
    except RunError:
        return None
