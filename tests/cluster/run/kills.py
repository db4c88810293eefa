"""Kill −9 at random moments over all roles of runs on a cluster: is every prompt trained exactly once?

    python -m tests.cluster.run.kills [--kills 50] [--minutes N] [--seed 0] [--folder DIR] [--schedules NAME …]

Kills are shared out over the schedules, one run each, and in a run over the roles in a drawn order: an engine that
samples, a rank that trains, that of the critic, that of the reference, a reward model, a scorer, the actor of a scorer,
the driver.
Each falls at a drawn moment after some steps more have been trained. A driver that was killed, or that has ended
because something died too often, is resumed. With `--minutes` no kill comes after that time, and the runs go on to
their ends. Exit code 1 if a step or a prompt was lost, a prompt trained twice, a decision of the schedule is another in
a replay of the journal, or a process is left over.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rldsl.compiler.resolve.alone import system_alone
from rldsl.runtime import checkpoint
from rldsl.runtime.journal import kept_events, read_journal
from rldsl.runtime.ledger import Ledger

from . import runs
from .learn import differing

DRIVER = "driver"
ROLES = {"engine": "ray::RolloutActor", "rank": "ray::RankActor", "critic": "ray::CriticRankActor",
         "reference": "ray::FrozenRankActor", "judge": "ray::JudgeActor", "reward": "ray::RewardActor",
         "scorer": f"{sys.executable} -P -m rldsl.runtime.scoring_worker"}
PLACEMENT = "disaggregated(rollout: 2, train: 1)"
SCHEDULES = ("sync", "partial(0.5)", "stream(push_every: 1)", "windowed(0.5)",
             "stream(push_every: 1) on disaggregated(rollout: 1, train: 1, versions: 2)")
CLUSTER = "nodes: 1, reward: 2, critic: 1, reference: 1"
SETS = ("advantage=gae", "critic=adamw(lr: 1e-3)", "gate=clip(0.2) + kl(0.01)",
        "feedback=verify(exact) + 0.1 * reward_model", 'model.reward="toy:llama-1x16"')
STEPS = 8
"""Steps of a run for each of its kills; half as many lie between two kills at most, and what a moment takes."""
MOST_SECONDS = 3.0
"""Between the last of these steps and the kill."""
STUCK_SECONDS = 900.0
"""Without a step, after which the command gives up."""


@dataclass(frozen=True)
class Kill:
    """What was killed after which step, whether the run had to be resumed, and seconds until one step more."""

    schedule: str
    role: str
    step: int
    resumed: bool
    seconds: float

    def __str__(self) -> str:
        how = "resumed" if self.resumed else "went on"
        return f"{self.schedule:<22} {self.role:<9} after step {self.step:3d}: {how} in {self.seconds:5.1f} s"


@dataclass(frozen=True)
class Ended:
    """How a run stands at its end: steps trained of those wanted, prompts trained, twice, or lost, decisions that a
    replay takes otherwise, and processes left."""

    steps: int
    wanted: int
    prompts: int
    twice: int
    lost: int
    differ: int
    left: int

    @property
    def sound(self) -> bool:
        return self.steps == self.wanted and not (self.twice or self.lost or self.differ or self.left)


class Session:
    """A run and its present driver."""

    def __init__(self, folder: Path, schedule: str, steps: int):
        folder.mkdir(parents=True)
        self.folder, self.run, self.steps, self.schedule = folder, folder / "run", steps, schedule
        file = runs.recipe(folder, steps=steps, warm=60, cluster=CLUSTER, system=system(schedule))
        sets = [word for each in SETS for word in ("--set", each)]
        self.going = runs.Process(folder, "run", file, *sets, "--out", str(self.run))
        self.resumes = 0

    @property
    def trained(self) -> list[int]:
        """Steps in the order in which they were trained, also those that a resume took back."""
        return runs.steps(self.run) if (self.run / "journal.jsonl").exists() else []

    def step(self) -> bool:
        """Waits for one step more, resuming what has ended; False where the run is over."""
        before, until = len(self.trained), time.monotonic() + STUCK_SECONDS
        while len(self.trained) == before:
            if time.monotonic() > until:
                raise SystemExit(f"no step for {STUCK_SECONDS:g} s: {self.going.said()}")
            if self.going.inner.poll() == 0:
                return False
            if self.going.inner.poll() is not None:
                self.resume()
            time.sleep(0.1)
        return True

    def resume(self) -> None:
        """A new driver, after the engines, ranks and scorers of the old one are gone."""
        if not all(self.going.gone(title, 60.0) for title in ROLES.values()):
            raise SystemExit(f"processes are left of a driver that ended: {self.going.said()}")
        self.going = runs.Process(self.folder, "resume", str(self.run))
        self.resumes += 1

    def kill(self, role: str, rng: random.Random) -> bool:
        """Kills one process of a role, once there is one; False where the run is over."""
        while self.going.inner.poll() is None:
            victims = [self.going.inner.pid] if role == DRIVER else self.going.processes(ROLES[role])
            if victims:
                os.kill(rng.choice(victims), signal.SIGKILL)
                return True
            time.sleep(0.1)
        return False

    def end(self) -> Ended:
        """Brings the run to its end."""
        while self.step():
            continue
        self.going.gone()
        return ended(self.run, self.schedule, self.steps, len(self.going.processes()))


def system(schedule: str) -> str:
    return schedule if " on " in schedule else f"{schedule} on {PLACEMENT}"


def ended(run: Path, schedule: str, wanted: int, left: int) -> Ended:
    kept = [e.data for e in kept_events(read_journal(run)) if e.kind == "step"]
    trained = [tuple(p[:2]) for step in kept for p in step["prompts"] if p[2] == "trained"]
    once = len({step["step"] for step in kept})
    ledger = Ledger.from_json(checkpoint.newest(run / "checkpoints").state["progress"]["ledger"])
    _, taken = Ledger(ledger.size, ledger.seed).take(ledger.taken)
    lost = set(taken) - set(ledger.returned) - set(trained)
    differ = differing(system_alone(system(schedule), "system")[0].choice, run)
    return Ended(once, wanted, len(trained), len(trained) - len(set(trained)), len(lost), differ or 0, left)


def drawn_roles(rng: random.Random) -> Iterator[str]:
    """All roles in a drawn order, again and again."""
    while True:
        yield from rng.sample([*ROLES, DRIVER], len(ROLES) + 1)


def killed(session: Session, kills: int, rng: random.Random, until: float) -> Iterator[Kill]:
    """Kills one process after another while the run lasts."""
    for _, role in zip(range(kills), drawn_roles(rng), strict=False):
        for _ in range(rng.randint(1, STEPS // 2)):
            session.step()
        time.sleep(rng.uniform(0.0, MOST_SECONDS))
        if time.monotonic() > until or not session.kill(role, rng):
            return
        step, resumes, begun = session.trained[-1], session.resumes, time.monotonic()
        session.step()
        yield Kill(session.schedule, role, step, session.resumes > resumes, time.monotonic() - begun)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--schedules", nargs="+", default=SCHEDULES)
    args = parser.parse_args()
    folder, rng = args.folder or Path(tempfile.mkdtemp()), random.Random(args.seed)
    until, count, done, ends = time.monotonic() + 60 * args.minutes, len(args.schedules), [], {}
    for number, schedule in enumerate(args.schedules):
        own = args.kills * (number + 1) // count - args.kills * number // count
        session = Session(folder / f"{number}", schedule, STEPS * max(1, own))
        for kill in killed(session, own, rng, until):
            done.append(kill)
            print(f"{len(done):3d} {kill}", flush=True)
        ends[schedule] = session.end()
        print(f"    {schedule}: {ends[schedule]}", flush=True)
    print("\n".join(table(done, ends)))
    return 0 if all(end.sound for end in ends.values()) else 1


def table(kills: list[Kill], ends: dict[str, Ended]) -> Iterator[str]:
    """Markdown: kills by schedule and role with what they cost, then how each run ended."""
    yield "| schedule | role | kills | went on | resumed | seconds to one step more: mean, most |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for schedule in ends:
        for role in [*ROLES, DRIVER]:
            own = [k for k in kills if (k.schedule, k.role) == (schedule, role)]
            if own:
                resumed, spent = sum(k.resumed for k in own), [k.seconds for k in own]
                yield (f"| `{schedule}` | {role} | {len(own)} | {len(own) - resumed} | {resumed} | "
                       f"{sum(spent) / len(spent):.1f}, {max(spent):.1f} |")
    yield "\n| schedule | kills | steps | prompts | trained twice | lost | replay differs | processes left |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for schedule, e in ends.items():
        count = sum(k.schedule == schedule for k in kills)
        yield (f"| `{schedule}` | {count} | {e.steps} of {e.wanted} | {e.prompts} | {e.twice} | {e.lost} | "
               f"{e.differ} | {e.left} |")


if __name__ == "__main__":
    sys.exit(main())
