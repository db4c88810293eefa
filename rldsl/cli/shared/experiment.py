"""What `rldsl sweep` and `rldsl ablate` have in common: show the expansion, run it, say how it went."""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rldsl.diagnostics import Diagnostic, RecipeError, at
from rldsl.runtime.errors import RunError
from rldsl.runtime.folder import FAILED, KILLED

from .output import RUN_FAILED, emit


def add_running(parser: ArgumentParser) -> None:
    """The options of everything that makes many runs."""
    parser.add_argument("--seeds", type=positive, metavar="N", help="run every point with N seeds, counted from the "
                        "recipe's own (default: the recipe's evidence.seeds)")
    parser.add_argument("--jobs", type=positive, default=1, metavar="N", help="processes at a time (default: 1)")
    parser.add_argument("--metric", default="held_out/score", metavar="NAME",
                        help="what the report compares (default: held_out/score)")
    parser.add_argument("--again", action="store_true", help="also run what is finished already")
    parser.add_argument("--dry-run", action="store_true", help="show the points and what they will take; run nothing")


def positive(text: str) -> int:
    """A whole number of at least 1."""
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


@contextmanager
def frozen_below(root: Path) -> Iterator[None]:
    """RecipeError RL407 where a project takes neither plans nor what is frozen."""
    try:
        yield
    except OSError as error:
        raise RecipeError([at("RL407", f"cannot write a plan below {root}: {error.strerror or error}", None,
                              why="what is run is frozen first, and only that is run",
                              fix="free disk space, make the folder writable, or copy the project")]) from error


def perform(expansion: Any, warnings: Sequence[Diagnostic], root: Path, args: Namespace) -> int:
    """Freezes the expansion, then shows it or runs it; 0, or 3 where a run failed."""
    from rldsl.experiments.expansion import freeze
    from rldsl.experiments.preview import to_json, to_text
    from rldsl.experiments.registry import finished

    from .session import stands

    done = set() if args.again else set(finished(root))
    with frozen_below(root):
        frozen = freeze(expansion, root)
    payload = {"expansion": {**to_json(expansion, done), "file": str(frozen)}}
    if args.dry_run:
        return emit(args, f"{to_text(expansion, done)}\nfrozen in {frozen}", payload, warnings)
    result = _execute(expansion, frozen, root, args)
    counts = Counter(o.status for o in result.outcomes)
    told = ", ".join(f"{n} {word.lower()}" for word, n in counts.items())
    lines = [f"{expansion.name}: {told}", f"  frozen in      {frozen}"]
    if result.tracked is not None:
        lines.append(f"  mlflow run     {stands(asdict(result.tracked))}")
    if not result.found:
        lines.append(f"  report         {result.home / 'report.html'}")
    lines.append(f"  compare with   rldsl report {expansion.name}")
    runs = [{"points": list(o.job.points), "seed": o.job.seed, "experiment": o.job.experiment, "status": o.status,
             "folder": str(o.folder), "error": o.error} for o in result.outcomes]
    code = emit(args, "\n".join(lines), {**payload, "runs": runs}, [*warnings, *result.found])
    return code or (RUN_FAILED if counts[FAILED] + counts[KILLED] else 0)


def _execute(expansion: Any, frozen: Path, root: Path, args: Namespace) -> Any:
    """Runs it; SIGTERM ends it as Ctrl-C does. RunError RL612 where the expansion's own folder takes nothing."""
    from rldsl.experiments.execute import execute

    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        return execute(expansion, frozen, root, jobs=args.jobs, again=args.again, tell=_tell(args, expansion))
    except OSError as error:
        raise RunError(Diagnostic("RL612", f"cannot write to {frozen.with_suffix('')}: {error.strerror or error}",
                                  why="how the runs went is kept there",
                                  fix="free disk space or make the folder writable; what is finished stays")) from error
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _tell(args: Namespace, expansion: Any) -> Any:
    def tell(outcome: Any, number: int, total: int) -> None:
        point = expansion.point(outcome.job.points[0])
        error = f": {outcome.error.splitlines()[0]}" if outcome.error else ""
        print(f"[{number}/{total}] {point.id} seed {outcome.job.seed}  {outcome.status.lower()}"
              f" after {outcome.seconds:.0f} s  {point.label}{error}", file=sys.stderr, flush=True)

    return tell
