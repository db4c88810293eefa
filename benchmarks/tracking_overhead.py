"""What tracking costs a step: batches of one run with tracking on and off in turn, on the same weights and machine.

    python benchmarks/tracking_overhead.py [--steps 200] [--recipe recipes/quickstart.rl]

Off, a batch writes no journal, watches for no sign of ill health, measures neither the machine nor what responses
depend on, and shows none of them; on, it does all of that, and the uploader feeds an SQLite database. Times are CPU
seconds of the training process, which other work on the machine disturbs least, and wall seconds; what the tracking
code itself took is also measured directly. The uploader is another process: its CPU seconds are given per step,
without what an uploader of an empty run takes.
"""

from __future__ import annotations

import argparse
import math
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rldsl.backends.local.launch import open_run
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.resolve import resolve
from rldsl.runtime import executor, stages_train
from rldsl.runtime.journal import Journal
from rldsl.runtime.run import Run
from rldsl.runtime.tracking import Tracker, TrackingSettings, default_uri

WARM = 10
"""First batches that are left out."""
QUICKSTART = Path(__file__).parents[1] / "recipes" / "quickstart.rl"


@dataclass
class Turns:
    """Switches tracking at every batch and keeps what each took: (CPU, wall) seconds by whether it was on, and the CPU
    seconds inside tracking."""

    report: Callable[..., None] = executor.report
    information: Callable[..., Any] = stages_train.information
    spent: dict[bool, list[tuple[float, float]]] = field(default_factory=lambda: {True: [], False: []})
    inside: list[float] = field(default_factory=list)
    since: tuple[float, float] = (0.0, 0.0)
    number: int = 0
    own: float = 0.0

    @property
    def on(self) -> bool:
        return self.number % 2 == 0

    def observe(self, kind: str, data: Any) -> None:
        """Begins a batch's time where its first node begins."""
        if kind == "doing" and data["node"].startswith("sample"):
            self.since, self.own = (time.process_time(), time.perf_counter()), 0.0

    def depends(self, *args: Any) -> Any:
        return self.timed(self.information, *args) if self.on else None

    def after(self, run: Run, work: Any, *rest: Any) -> None:
        """Ends a batch's time behind its report, or where that would have been."""
        if self.on:
            self.timed(self.report, run, work, *rest)
        cpu, wall = self.since
        if self.number >= WARM:
            self.spent[self.on].append((time.process_time() - cpu, time.perf_counter() - wall))
            self.inside += [self.own] if self.on else []
        self.number += 1

    def timed(self, work: Callable[..., Any], *args: Any) -> Any:
        begun = time.process_time()
        found = work(*args)
        self.own += time.process_time() - begun
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--recipe", default=str(QUICKSTART))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root, sets = Path(scratch), [f"budget.steps={args.steps}", f"evaluate.every={args.steps}"]
        plan, _ = compile_recipe(resolve(args.recipe, sets=sets))
        _, empty = (uploader(root, name, lambda folder: None) for name in ("makes the tables", "empty"))
        turns = Turns()
        executor.report, stages_train.information = turns.after, turns.depends
        full = uploader(root, "full", lambda folder: train(plan, root, folder, turns))
        tell(turns, full - empty, args.steps // 2)


def train(plan: Any, root: Path, folder: Path, turns: Turns) -> None:
    """The run itself."""
    with open_run(plan, folder, root, turns.observe, resume=False) as run:
        run.record("start", name=plan.name)
        executor.execute(run)
        run.record("end", status="FINISHED")


def uploader(root: Path, name: str, work: Callable[[Path], None]) -> float:
    """CPU seconds that the uploader of a run took."""
    folder = root / name
    with Journal(folder) as journal:
        journal.append("created")
    tracker = Tracker(folder, TrackingSettings(default_uri(root), "overhead", name))
    work(folder)
    before = children()
    report = tracker.finish(120.0)
    assert not report.degraded and report.pending == 0, report
    return children() - before


def children() -> float:
    """CPU seconds of children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tell(turns: Turns, uploaded: float, steps: int) -> None:
    print("| per step | off | on | difference |\n| --- | ---: | ---: | ---: |")
    for i, what in enumerate(("CPU ms of the training process", "wall ms")):
        off, on = ([t[i] * 1e3 for t in turns.spent[state]] for state in (False, True))
        a, b = statistics.median(off), statistics.median(on)
        print(f"| {what}, median | {a:.2f} | {b:.2f} | {100 * (b - a) / a:+.2f} % |")
        a, b = statistics.fmean(off), statistics.fmean(on)
        error = math.hypot(*(statistics.stdev(x) / math.sqrt(len(x)) for x in (off, on)))
        print(f"| {what}, mean | {a:.2f} | {b:.2f} | {100 * (b - a) / a:+.2f} ± {100 * error / a:.2f} % |")
    own, step = statistics.fmean(turns.inside), statistics.fmean(cpu for cpu, _ in turns.spent[True])
    print(f"\nInside tracking, measured directly: {own * 1e3:.2f} CPU ms, {own / step:.2%} of the step. The uploader, "
          f"another process: {1e3 * uploaded / steps:.1f} CPU ms per tracked step. {len(turns.spent[True])} batches "
          f"on, {len(turns.spent[False])} off.")


if __name__ == "__main__":
    main()
