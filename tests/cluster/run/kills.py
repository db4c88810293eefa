"""Kill −9 at random moments over all roles of a run on a cluster: is every prompt trained exactly once?

    python -m tests.cluster.run.kills [--kills 50] [--minutes N] [--seed 0] [--folder DIR]

A role is drawn for each kill: an engine that samples, a rank that trains, a scorer, or the driver; so is a moment,
after one step more has been trained. A driver that was killed, or that has ended because something died too often, is
resumed. With `--minutes` kills end after that time, and the run goes on to its end. Exit code 1 if a prompt was lost or
trained twice, or if a process is left over.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from rldsl.runtime.journal import kept_events, read_journal

from . import runs

ROLES = {"engine": "ray::RolloutActor", "rank": "ray::RankActor",
         "scorer": f"{sys.executable} -P -m rldsl.runtime.scoring_worker"}
MOST_SECONDS = 3.0
"""Between one step more and the kill."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=None)
    args = parser.parse_args()
    folder = args.folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    run, rng = folder / "run", random.Random(args.seed)
    steps, killed, until = 4 * args.kills, Counter(), time.monotonic() + 60 * args.minutes
    going = runs.Process(folder, "run", runs.recipe(folder, steps=steps, warm=60), "--out", str(run))
    while sum(killed.values()) < args.kills and time.monotonic() < until:
        going = stepped(going, folder, run)
        time.sleep(rng.uniform(0.0, MOST_SECONDS))
        role = rng.choice([*ROLES, "driver"])
        victims = [going.inner.pid] if role == "driver" else going.processes(ROLES[role])
        if victims and going.inner.poll() is None:
            os.kill(rng.choice(victims), signal.SIGKILL)
            killed[role] += 1
            print(f"{sum(killed.values()):3d} {role:<7} after step {runs.steps(run)[-1]}", flush=True)
    while going.inner.wait() != 0:
        going = resumed(going, folder, run)
    going.gone()
    return verdict(run, steps, killed, going.processes())


def stepped(going: runs.Process, folder: Path, run: Path) -> runs.Process:
    """The process, perhaps a resumed one, once it has trained one step more."""
    before = len(journalled(run))
    while len(journalled(run)) == before:
        if going.inner.poll() is not None:
            going = resumed(going, folder, run)
        time.sleep(0.1)
    return going


def journalled(run: Path) -> list[int]:
    return runs.steps(run) if (run / "journal.jsonl").exists() else []


def resumed(going: runs.Process, folder: Path, run: Path) -> runs.Process:
    """A new process that goes on, after the engines and ranks of the old one are gone."""
    if not going.gone("ray::R"):
        raise SystemExit(f"processes are left of a driver that ended: {going.said()}")
    print("    resume", flush=True)
    return runs.Process(folder, "resume", str(run))


def verdict(run: Path, steps: int, killed: Counter, left: list[int]) -> int:
    kept = [e.data for e in kept_events(read_journal(run)) if e.kind == "step"]
    drawn = [tuple(p[:2]) for step in kept for p in step["prompts"]]
    whole = [step["step"] for step in kept] == list(range(1, steps + 1))
    print(f"{sum(killed.values())} kills ({', '.join(f'{n} {role}' for role, n in sorted(killed.items()))}); "
          f"{len(kept)} of {steps} steps, {len(drawn)} prompts, {len(drawn) - len(set(drawn))} trained twice, "
          f"{len(left)} processes left")
    return 0 if whole and len(drawn) == len(set(drawn)) == steps * 32 and not left else 1


if __name__ == "__main__":
    sys.exit(main())
