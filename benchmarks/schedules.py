"""Every schedule through Ray, vLLM and Megatron-core under a heavy tail, against a simulation of its own journal.

    python benchmarks/schedules.py [--batches 12] [--token 0.08] [--train 1.5] [--only NAME …] [--folder DIR]

Engine, trainer, event loop and journal are those of `rldsl run` on a cluster. Three things are made for the comparison:
a response ends at a drawn length (a Pareto tail) instead of where its model would end it, the engine takes one step in
`--token` seconds, and training one mean batch lasts `--train` seconds, so that what else a small machine does hardly
matters. All systems have the same two processes, one that samples and one that trains. Each journal is also replayed:
a schedule that now decides otherwise ends the benchmark. Two have at most ADMIT batches in the pool, as with
`admit(staleness: ADMIT)`: without, the pool of a `stream` grows for as long as sampling is the faster of the two. One
of these serves VERSIONS sets of weights at once, from so many engines in the place of one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

from simulated_against_live import LONGEST, PROMPTS, SIBLINGS, length

from rldsl.axes.control import Event
from rldsl.backends.cluster import launch
from rldsl.backends.cluster.rollout.actor import RolloutActor
from rldsl.backends.cluster.rollout.engine_process import spawner
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.resolve import resolve
from rldsl.compiler.resolve.alone import system_alone
from rldsl.compiler.show import show
from rldsl.runtime import event_loop
from rldsl.runtime.control import Terms, replay
from rldsl.runtime.journal import Journal, read_journal
from rldsl.runtime.ledger import Ledger
from rldsl.runtime.run import Progress, Run
from rldsl.runtime.simulation.machine import Costs, simulate
from rldsl.runtime.simulation.measure import bound, outcome
from rldsl.runtime.simulation.trace import controls, recorded
from rldsl.runtime.trajectory import Request, SamplingOptions, Trajectory

ADMIT, UPDATES, VERSIONS = 4, 2, 2
ADMITTING, SERVING = f", admit {ADMIT}", f", versions {VERSIONS}"
SCHEDULES = ("sync", "partial(0.7)", "token_budget(400)", "per_sample(32)", "one_step_off", "stream(2)", "stream(4)",
             f"stream(2){ADMITTING}", f"stream(2){ADMITTING}{SERVING}", "windowed(0.5)", "windowed(0.3, queue: 4)")
RECIPE = f"""recipe timed {{
  feedback     = verify(exact) + overlong(max: {LONGEST}, buffer: {LONGEST})
  sampling     = group({SIBLINGS}, max_tokens: {LONGEST})
  advantage    = group_mean
  ratio        = token(current / old)
  gate         = clip(0.2)
  reduction    = token_mean
  distribution = tis(2.0)
  system       = stream(2) on disaggregated(rollout: 1, train: 1)
  model    {{ policy: "toy:llama-2x128", dtype: fp32 }}
  data     {{ train: "toy:largest", prompts: {PROMPTS} }}
  optim    {{ adamw(lr: 1e-5), updates_per_batch: {UPDATES} }}
  budget   {{ steps: 1000 }}
  cluster  {{ nodes: 1 }}
  track    {{ mlflow: none }}
}}
"""


class Paced(RolloutActor):
    """The real engine's process, which takes a step in `pace` seconds at the earliest."""

    pace, _due = 0.0, 0.0

    def _obey(self, engine: Any) -> None:
        time.sleep(max(0.0, self._due - time.monotonic()))
        super()._obey(engine)
        self._due = time.monotonic() + self.pace


@dataclass
class Tailed:
    """Implements ServingRollout: the real engines, asked for a drawn length of every response."""

    inner: Any

    @property
    def version(self) -> int:
        return self.inner.version

    @property
    def moved(self) -> float:
        return self.inner.moved

    @property
    def keeps(self) -> bool:
        return self.inner.keeps

    def start(self, requests: Sequence[Request], options: SamplingOptions, *, batch: int) -> None:
        for r in requests:
            for single in (replace(r, siblings=1, first=r.first + s) for s in range(r.siblings)):
                self.inner.start([single], replace(options, max_tokens=length(single)), batch=batch)

    def poll(self, timeout: float) -> list[Trajectory]:
        return self.inner.poll(timeout)

    def pause(self) -> list[Request]:
        return self.inner.pause()

    def load(self, version: int, weights: Any) -> str:
        return self.inner.load(version, weights)

    @property
    def serves(self) -> int:
        return self.inner.serves

    @property
    def free(self) -> bool:
        return self.inner.free

    @property
    def arrived(self) -> bool:
        return self.inner.arrived

    def send(self, version: int, weights: Any) -> None:
        self.inner.send(version, weights)

    def sample(self, requests: Sequence[Request], options: SamplingOptions, *, batch: int,
               greedy: bool = False) -> list[Trajectory]:
        return self.inner.sample(requests, options, batch=batch, greedy=greedy)


@dataclass(frozen=True)
class Live:
    """A live run in numbers: seconds a batch, mean age of its responses, the idle share of both processes, the share
    of the bound, and the share of time in which neither process worked."""

    seconds: float
    age: float
    idle: float
    bound: float
    neither: float


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--batches", type=int, default=12)
    parser.add_argument("--token", type=float, default=0.08)
    parser.add_argument("--train", type=float, default=1.5)
    parser.add_argument("--only", choices=SCHEDULES, nargs="+", default=SCHEDULES)
    parser.add_argument("--folder", type=Path, default=None)
    args = parser.parse_args()
    place = args.folder or Path(tempfile.mkdtemp())
    place.mkdir(parents=True, exist_ok=True)
    Paced.pace = args.token
    launch.spawner = partial(spawner, kind=Paced)
    print("| schedule | s a batch: live / simulated | simulated over live | age | idle | of bound | neither works "
          "|\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for versions, names in groupby(sorted(args.only, key=_versions), _versions):
        with engines(place, versions, args.batches) as run:
            _slow_down(run, args.train)
            for name in names:
                train(run, name, place / name, args.batches)
                print(line(name, place / name, args.batches), flush=True)


@contextmanager
def engines(place: Path, versions: int, batches: int) -> Iterator[Run]:
    """A run of engines that serve so many sets of weights."""
    file, folder = place / "timed.rl", place / f"engines-{versions}"
    file.write_text(RECIPE, encoding="utf-8")
    folder.mkdir(exist_ok=True)
    plan, _ = compile_recipe(resolve(str(file), sets=[f"budget.steps={batches}", f"system.versions={versions}"]))
    with launch.open_run(plan, folder, place, lambda *_: None, resume=False) as run:
        run.graph = run.graph.without(["checkpoint"])
        yield run


def _slow_down(run: Run, seconds: float) -> None:
    """Makes every update last as long as its tokens' share of a mean batch."""
    update = run.trainer.update
    draws = [length(Request(g, 0, (), 1, first=s)) for g in range(1000) for s in range(SIBLINGS)]
    each = seconds / (fmean(draws) * PROMPTS * SIBLINGS)

    def padded(job):
        until = time.monotonic() + each * sum(len(r.tokens) for r in job.rows)
        found = update(job)
        time.sleep(max(0.0, until - time.monotonic()))
        return found

    run.trainer.update = padded


def train(run: Run, name: str, folder: Path, batches: int) -> None:
    """One schedule's live run, on engines that are up."""
    folder.mkdir(exist_ok=True)
    with Journal(folder) as run.journal:
        run.folder, run.schedule, run.terms = folder, _system(name)[0], _terms(name, batches)
        run.progress, run.fresh = Progress(Ledger(len(run.data), run.settings.seed)), False
        event_loop.execute(run, Tailed(run.stream))


def line(name: str, folder: Path, batches: int) -> str:
    """A journal's line of the table."""
    schedule, placement = _system(name)
    if differs := list(replay(schedule, controls(folder))):
        sys.exit(f"{name}: {len(differs)} decisions differ in a replay: {differs[0]}")
    trace = recorded(folder, 0)
    costs = Costs(int(trace.peak / placement.samples(False)),
                  trace.train * PROMPTS * SIBLINGS * trace.mean[1] * placement.trains(), trace.push or 0.0,
                  pause=trace.pause or 0.0)
    simulated = simulate(schedule, placement, _terms(name, batches), costs, trace)
    live, told = _live(folder, placement, costs), outcome(name, placement, costs, simulated)
    shown = f"`{show(schedule)}`{''.join(each for each in (ADMITTING, SERVING) if each in name)}"
    return (f"| {shown} | {live.seconds:.2f} / {told.seconds:.2f} | {told.seconds / live.seconds - 1:+.1%} "
            f"| {live.age:.2f} / {told.age:.2f} | {live.idle:.0%} / {told.idle:.0%} "
            f"| {live.bound:.0%} / {told.bound:.0%} | {live.neither:.1%} |")


def _system(name: str) -> tuple[Any, Any]:
    written = name.removesuffix(SERVING).removesuffix(ADMITTING)
    place = f"disaggregated(rollout: 1, train: 1, versions: {_versions(name)})"
    schedule, placement = (node.choice for node in system_alone(f"{written} on {place}", "system"))
    return schedule, placement


def _versions(name: str) -> int:
    return VERSIONS if name.endswith(SERVING) else 1


def _terms(name: str, batches: int) -> Terms:
    admitted = ADMIT * PROMPTS if ADMITTING in name else None
    return Terms(PROMPTS, SIBLINGS, batches, admit=admitted, updates=UPDATES, versions=_versions(name))


def _live(folder: Path, placement: Any, costs: Costs) -> Live:
    """The numbers of a journal, with those definitions that a simulation's have."""
    events = list(read_journal(folder))
    steps, heard = [e for e in events if e.kind == "step"], [e for e in events if e.kind == "control"]
    begun, ended = heard[0].time, steps[-1].time
    spans, training, of, trained, sizes = [], 0.0, {}, 0.0, []
    for e in heard:
        told, seconds = Event.from_json(e.data["event"]), e.data["seconds"]
        if told.kind in ("finished", "updated"):
            spans.append((e.time - seconds, e.time))
        if told.kind == "finished":
            of[told.group] = of.get(told.group, 0.0) + seconds
        training += seconds * (told.kind == "updated")
        for a in e.data["actions"]:
            if a["kind"] == "train":
                sizes.append(len(a["groups"]))
                trained += sum(of[g] for g in a["groups"])
    elapsed = ended - begun
    busy = sum(of.values()) / costs.slots + training * placement.trains()
    age = sum(n * s.data["metrics"]["staleness/mean"] for n, s in zip(sizes, steps, strict=True)) / sum(sizes)
    return Live(elapsed / len(steps), age, 1 - busy / elapsed, bound(placement, costs, training, trained) / elapsed,
                1 - covered(spans, begun, ended) / elapsed)


def covered(spans: Iterable[tuple[float, float]], begin: float, end: float) -> float:
    """Seconds from `begin` to `end` that lie in at least one of the spans."""
    total, at = 0.0, begin
    for start, stop in sorted(spans):
        start, stop = max(start, at), min(stop, end)
        if stop > start:
            total, at = total + stop - start, stop
    return total


if __name__ == "__main__":
    main()
