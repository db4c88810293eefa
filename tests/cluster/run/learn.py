"""Whether a policy learns through the real engines, by schedule, estimator and layout.

    python -m tests.cluster.run.learn [CASE …]

Prints the held-out score before and after each case's run, and whether the journal's decisions are taken again in a
replay. Exit code 1 where a score rises by less than MARGIN, a prompt is trained twice, or a decision differs. The cases
of SHORT are in `make test-cluster`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rldsl.axes.control import Schedule
from rldsl.compiler.resolve.alone import system_alone
from rldsl.runtime.control import replay
from rldsl.runtime.journal import kept_events, read_journal
from rldsl.runtime.simulation.trace import controls

from . import runs

STEPS, MARGIN = 80, 0.1


@dataclass(frozen=True)
class Case:
    """A schedule on so many engines and ranks, what else the cluster block says, and settings beside the recipe's."""

    schedule: str
    engines: int = 1
    ranks: int = 1
    cluster: str = "nodes: 1"
    sets: tuple[str, ...] = ()

    @property
    def system(self) -> str:
        return f"{self.schedule} on disaggregated(rollout: {self.engines}, train: {self.ranks})"


PPO = ("advantage=gae", "critic=adamw(lr: 1e-3)")
CASES: Mapping[str, Case] = {
    "partial": Case("partial(0.25)", sets=("data.prompts=64",)),
    "stream": Case("stream(push_every: 2)"),
    "windowed, two stages": Case("windowed(0.3)", ranks=2, cluster="nodes: 1, pipeline: 2"),
    "PPO, two tensor ranks": Case("sync", ranks=2, cluster="nodes: 1, tensor: 2", sets=PPO),
    "one_step_off": Case("one_step_off"),
    "token_budget": Case("token_budget(1000)"),
    "per_sample": Case("per_sample(128)"),
}
SHORT = tuple(CASES)[:4]


@dataclass(frozen=True)
class Learnt:
    """Held-out scores before and after, the age of the oldest token in batches, and how many decisions a replay of the
    journal takes otherwise; None where the schedule decides over whole batches."""

    first: float
    last: float
    oldest: float
    differ: int | None


def learnt(case: Case, folder: Path) -> Learnt:
    """A whole run of the case in `folder`. AssertionError where it fails or trains a prompt twice."""
    run = folder / "run"
    file = runs.recipe(folder, steps=STEPS, cluster=case.cluster, system=case.system)
    sets = [word for s in case.sets for word in ("--set", s)]
    done = runs.Process(folder, "run", file, *sets, "--out", str(run))
    assert done.wait(900.0) == 0, done.said()
    kept = list(kept_events(read_journal(run)))
    steps = [e.data for e in kept if e.kind == "step"]
    assert [s["step"] for s in steps] == list(range(1, STEPS + 1))
    drawn = [tuple(p[:2]) for s in steps for p in s["prompts"]]
    assert drawn and len(drawn) == len(set(drawn)), "a prompt was trained twice"
    scores = [e.data["metrics"]["held_out/score"] for e in kept if "held_out/score" in e.data.get("metrics", {})]
    schedule = system_alone(case.system, "system")[0].choice
    return Learnt(scores[0], scores[-1], max(s["metrics"]["staleness/max"] for s in steps), differing(schedule, run))


def differing(schedule: Schedule, run: Path) -> int | None:
    if not (schedule.overlaps() or schedule.cuts()):
        return None
    return len(list(replay(schedule, controls(run))))


def main() -> int:
    wrong = 0
    for name in sys.argv[1:] or CASES:
        with tempfile.TemporaryDirectory() as place:
            found = learnt(CASES[name], Path(place))
        replayed = "" if found.differ is None else f", {found.differ} decisions differ in a replay"
        print(f"{name}: held-out score {found.first:.3f} → {found.last:.3f}, oldest token {found.oldest:g} batches"
              f"{replayed}", flush=True)
        wrong += found.last < found.first + MARGIN or bool(found.differ)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
