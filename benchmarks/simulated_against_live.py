"""A live run's step time, idle share and staleness against a simulation of its own journal, for every schedule.

    python benchmarks/simulated_against_live.py [BATCHES]

The event loop, the trainer (a micro model) and the journal are those of a real run. The engine is a clock: a response
takes a drawn time with a heavy tail, and no processor; training is padded to a fixed time. So a loaded machine adds
little, and what is compared is the loop's own order and overhead.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rldsl.axes.control import Schedule
from rldsl.backends.local import launch
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.resolve import resolve
from rldsl.compiler.resolve.alone import system_alone
from rldsl.compiler.show import show
from rldsl.runtime import event_loop
from rldsl.runtime.control import Terms
from rldsl.runtime.journal import read_journal
from rldsl.runtime.simulation.machine import Costs, simulate
from rldsl.runtime.simulation.measure import Outcome, outcome
from rldsl.runtime.simulation.trace import recorded
from rldsl.runtime.trajectory import Prefix, Request, SamplingOptions, Trajectory

PROMPTS, SIBLINGS, TRAIN, LONGEST = 8, 4, 0.4, 60
APART = "disaggregated(rollout: 1, train: 1)"
SYSTEMS = ("sync on colocated", "partial(0.7) on colocated", "token_budget(200) on colocated",
           "per_sample(32) on colocated", f"one_step_off on {APART}", f"stream(2) on {APART}",
           f"windowed(0.5) on {APART}")
RECIPE = f"""recipe timed {{
  feedback     = verify(exact) + overlong(max: {LONGEST}, buffer: {LONGEST})
  sampling     = group({SIBLINGS}, max_tokens: {LONGEST})
  advantage    = group_mean
  ratio        = token(current / rollout)
  gate         = clip(0.2)
  reduction    = token_mean
  distribution = on_policy
  system       = sync on colocated
  model    {{ policy: "toy:llama-1x16", dtype: fp32 }}
  data     {{ train: "toy:largest", prompts: {PROMPTS} }}
  optim    {{ adamw(lr: 1e-4), updates_per_batch: 2 }}
  budget   {{ steps: 1000 }}
}}
"""


@dataclass
class Clock:
    """Implements StreamingRollout: 20 ms a token, with a length that the response's number draws."""

    version: int = 0
    keeps: bool = False
    serves: int = 1
    moved: float = 0.0
    flight: list[tuple[float, Request]] = field(default_factory=list)

    def start(self, requests: Sequence[Request], options: SamplingOptions, *, batch: int) -> None:
        singles = [replace(r, siblings=1, first=r.first + s) for r in requests for s in range(r.siblings)]
        self.flight += [(time.monotonic() - 0.02 * len(r.prefix.tokens), r) for r in singles]

    def poll(self, timeout: float) -> list[Trajectory]:
        until = time.monotonic() + timeout
        while True:
            now = time.monotonic()
            ended = [r for began, r in self.flight if now - began >= 0.02 * length(r)]
            self.flight = [(began, r) for began, r in self.flight if now - began < 0.02 * length(r)]
            if ended or now >= until:
                return [self._whole(r) for r in ended]
            time.sleep(0.001)

    def pause(self) -> list[Request]:
        now = time.monotonic()
        found = [replace(r, prefix=self._prefix(r, min(length(r) - 1, int((now - began) / 0.02))))
                 for began, r in self.flight]
        self.flight = []
        return found

    def load(self, version: int, weights: object) -> str:
        self.version = version
        return str(version)

    def _prefix(self, r: Request, count: int) -> Prefix:
        new = max(0, count - len(r.prefix.tokens))
        return Prefix((*r.prefix.tokens, *[5] * new), (*r.prefix.logps, *[-4.0] * new),
                      (*r.prefix.versions, *[self.version] * new))

    def _whole(self, r: Request) -> Trajectory:
        p = self._prefix(r, length(r))
        return Trajectory(r.group, r.first, r.row, r.prompt, p.tokens, p.logps, p.versions, "stop", "x")


def length(r: Request) -> int:
    """Tokens: a Pareto tail with α = 1.5 from 5 on."""
    return min(LONGEST, round(5 * random.Random(f"{r.group}/{r.first}").random() ** (-1 / 1.5)))


def main() -> None:
    batches = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    print(f"{'system':52} {'s/batch':>16}  {'age':>12}  idle  of bound  measured over simulated")
    for system in SYSTEMS:
        schedule, placement = (node.choice for node in system_alone(system, "system"))
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            train(schedule, batches, folder)
            trace = recorded(folder, 0)
            share = placement.samples(False)
            full = PROMPTS * SIBLINGS * trace.mean[1]
            costs = Costs(int(trace.peak / share), trace.train * full * placement.trains(), trace.push or 0.0,
                          pause=trace.pause or 0.0)
            m = simulate(schedule, placement, Terms(PROMPTS, SIBLINGS, batches), costs, trace)
            name = f"{show(schedule)} on {show(placement)}"
            print(row(name, outcome(system, placement, costs, m), folder), flush=True)


def row(name: str, told: Outcome, folder: Path) -> str:
    """Measured and simulated numbers of one system."""
    events = list(read_journal(folder))
    steps = [e for e in events if e.kind == "step"]
    begun = next(e.time for e in events if e.kind == "control")
    seconds = (steps[-1].time - begun) / len(steps)
    age = statistics.fmean(s.data["metrics"]["staleness/mean"] for s in steps)
    return (f"{name:52} {seconds:7.3f} / {told.seconds:6.3f} {age:6.2f} / {told.age:5.2f} {told.idle:5.0%} "
            f"{told.bound:9.0%}  {seconds / told.seconds - 1:+.1%}")


def train(schedule: Schedule, batches: int, folder: Path) -> None:
    """One live run."""
    file = folder / "timed.rl"
    file.write_text(RECIPE)
    plan, _ = compile_recipe(resolve(str(file), sets=[f"budget.steps={batches}"]))
    with launch.open_run(plan, folder, folder, lambda *_: None, resume=False) as run:
        run.schedule, run.terms = schedule, Terms(PROMPTS, SIBLINGS, batches)
        run.graph = run.graph.without(["checkpoint"])
        update = run.trainer.update

        def padded(job):
            started = time.monotonic()
            found = update(job)
            time.sleep(max(0.0, TRAIN * len(job.rows) / PROMPTS / SIBLINGS - (time.monotonic() - started)))
            return found

        run.trainer.update = padded
        event_loop.execute(run, Clock())


if __name__ == "__main__":
    main()
