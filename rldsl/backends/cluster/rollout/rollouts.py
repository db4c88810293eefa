"""All engines of a run behind one front: shares streams out, takes answers back, replaces what dies."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from rldsl.backends.cluster.deaths import dead, stalled
from rldsl.backends.cluster.weights import Weights
from rldsl.diagnostics import Diagnostic
from rldsl.runtime.errors import RunError
from rldsl.runtime.trajectory import Request, SamplingOptions, Trajectory, require_room

from .answers import require_sound
from .engine_process import POLL_SECONDS, EngineProcess, Gone, answer
from .streams import EngineSpec, Report, Stream
from .weight_sets import Sent, WeightSet

DEADLINE = 120.0
"""Seconds without a step of an engine that has something to do."""
START_DEADLINE = 600.0
"""Seconds that an engine may take to come up."""
DEATHS = 3
"""Times that one engine is replaced; the next death ends the run."""


class Rollouts:
    """Implements `rldsl.runtime.protocols` ServingRollout over processes; used by one thread.

    `spawn` starts the process of an engine; `tell` hears of one that died and was replaced, `pushed` of each version
    that counts: its number, the weights, and the seconds up to the last engine's proof. Nothing samples before the
    first `load`. There are `count` places for engines, the last `lent` of them on the trainer's devices; a place has
    one engine for each of `spec.sets`, and the engines of a set are numbered with that distance.
    """

    def __init__(self, spec: EngineSpec, count: int, spawn: Callable[[int], Any], tell: Callable[[Diagnostic], None],
                 pushed: Callable[[int, Weights, float], None], deadline: float = DEADLINE, *, lent: int = 0):
        self.spec, self.deadline = spec, deadline
        self._spawn, self._tell, self._pushed = spawn, tell, pushed
        self._ids = itertools.count()
        self._sets = [WeightSet() for _ in range(spec.sets)]
        self._engines = [EngineProcess(i, spawn(i), self._sets[i % spec.sets]) for i in range(count * spec.sets)]
        self._finished: list[tuple[int, Trajectory]] = []
        self._sent: Sent | None = None
        self._kept: dict[tuple[int, int, int], EngineProcess] = {}
        self._lent, self._away = range((count - lent) * spec.sets, count * spec.sets), False

    @property
    def version(self) -> int:
        """See RolloutEngine: of the newest set."""
        return self._sets[-1].version

    @property
    def serves(self) -> int:
        """See StreamingRollout."""
        return len(self._sets)

    @property
    def free(self) -> bool:
        """See ServingRollout."""
        return not all(map(self._busy, self._sets))

    @property
    def arrived(self) -> bool:
        """See ServingRollout; also true of engines that have had their time to answer."""
        late = self._sent is not None and time.monotonic() - self._sent.begun > self.deadline
        return late or (self._sent is not None and self._sent.answered())

    @property
    def keeps(self) -> bool:
        """See StreamingRollout."""
        return self.spec.keeps

    @property
    def moved(self) -> float:
        """See StreamingRollout."""
        return max(engine.moved for engine in self._engines)

    def sample(self, requests: Sequence[Request], options: SamplingOptions, *, batch: int,
               greedy: bool = False) -> list[Trajectory]:
        """See RolloutEngine. What was started before and finishes meanwhile is left for `poll`."""
        order = self._take(requests, options, batch, greedy)
        mine, found = set(order), {}
        while len(found) < len(mine):
            self._gather(POLL_SECONDS)
            found |= {i: t for i, t in self._finished if i in mine}
            self._finished = [(i, t) for i, t in self._finished if i not in mine]
        return [found[i] for i in order]

    def start(self, requests: Sequence[Request], options: SamplingOptions, *, batch: int) -> None:
        """See StreamingRollout."""
        self._take(requests, options, batch, greedy=False)

    def poll(self, timeout: float) -> list[Trajectory]:
        """See StreamingRollout."""
        end = time.monotonic() + timeout
        while not self._finished and (left := end - time.monotonic()) > 0:
            self._gather(left)
        found, self._finished = [t for _, t in self._finished], []
        return found

    def pause(self) -> list[Request]:
        """See StreamingRollout. What an engine that dies meanwhile was busy with comes back as it was given."""
        stopped = [s for each in self._sets for s in each.give_up()]
        self._kept.clear()
        for engine in list(self._engines):
            stopped += self._stop(engine)
        return [s.request for s in sorted(stopped, key=lambda s: s.id)]

    def lend(self, again: bool) -> None:
        """Has the engines on the trainer's devices sample `again`, with a fair share of what others have under way, or
        stop; others go on with what they had. What changes engines stays with its set of weights."""
        self._away = not again
        for each in self._sets:
            fair = -(-sum(len(e.under_way) for e in self._of(each)) // max(1, len(self._ready(each))))
            moved = [s for e in self._of(each) for s in self._taken(e, fair)]
            self._share([[s] for s in sorted(moved, key=lambda s: s.id)], each)

    def _taken(self, engine: EngineProcess, fair: int) -> list[Stream]:
        """What an engine has to give away: all where it is to stop, else the latest of what exceeds its fair share."""
        if self._away:
            return self._stop(engine) if engine.index in self._lent else []
        surplus = sorted(engine.under_way)[fair:]
        return self._stop(engine, surplus) if surplus else []

    def send(self, version: int, weights: Weights) -> None:
        """See ServingRollout."""
        target = next(each for each in self._sets if self.serves == 1 or not self._busy(each))
        self._sent = Sent(target, version, weights, time.monotonic(),
                          [(engine, engine.load(version, weights)) for engine in self._of(target)])

    def load(self, version: int, weights: Weights) -> str:
        """See StreamingRollout. Every engine proves that it holds the weights before the version counts; where one
        refuses them twice, all go on with those they had, and RunError RL616 says so."""
        if self._sent is None or self._sent.weights is not weights:
            self.send(version, weights)
        sent, self._sent = self._sent, None
        refused, gone = self._proved(sent)
        if again := [e for e, _ in sent.to if refused.get(e.index, e) is None]:
            self._tell(_refused(version, refused, again=True))
            still, more = self._proved(replace(sent, to=[(e, e.load(version, weights)) for e in again]))
            refused = {i: error for i, error in refused.items() if error is not None} | still
            gone += more
        target = sent.target
        if refused:
            self._back(target, refused, gone)
            raise RunError(_refused(version, refused))
        target.version, target.weights = version, weights
        self._sets.sort(key=lambda each: each is target)
        for engine, error in gone:
            self._lost(engine, error)
        self._share([[s] for s in target.give_up()], target)
        self._pushed(version, weights, time.monotonic() - sent.begun)
        return weights.manifest.fingerprint

    def actors(self) -> list[Any]:
        """Every engine's process."""
        return [engine.actor for engine in self._engines]

    def close(self) -> None:
        """Ends every engine's process."""
        import ray

        for engine in self._engines:
            ray.kill(engine.actor)

    def _of(self, each: WeightSet) -> list[EngineProcess]:
        return [e for e in self._engines if e.holds is each]

    def _ready(self, each: WeightSet) -> list[EngineProcess]:
        """A set's engines that take streams now."""
        loads = self._sent is not None and self._sent.target is each
        return [e for e in self._of(each)
                if not loads and e.starting is None and not (self._away and e.index in self._lent)]

    def _busy(self, each: WeightSet) -> bool:
        """Whether responses are to be ended by this set's weights."""
        return bool(each.waiting) or any(e.under_way for e in self._of(each))

    def _stop(self, engine: EngineProcess, only: Collection[int] | None = None) -> list[Stream]:
        """What an engine had under way, or only these streams of it, as far as they came; of one that dies meanwhile,
        everything as it was given."""
        if not engine.under_way:
            return []
        try:
            engine.confirm(self.deadline)
            report, held = answer(engine.actor.pause.remote(only), engine.name, self.deadline, "it was paused")
            self._accept(engine, engine.heard(report))
            if engine.polled is not None:
                self._accept(engine, engine.report(self.deadline))
            self._kept |= {s.place: engine for s in held if self.keeps and s.request.prefix.tokens}
        except Gone as error:
            held = list(engine.under_way.values())
            self._replace(engine, error)
            only = None
        for stream in list(engine.under_way) if only is None else [s.id for s in held]:
            del engine.under_way[stream]
        return held

    # ── streams ──────────────────────────────────────────────────────────────────────────────────────

    def _take(self, requests: Sequence[Request], options: SamplingOptions, batch: int, greedy: bool) -> list[int]:
        """Shares out one stream a sibling; their ids in the order of requests, then siblings."""
        require_room(requests, options, self.spec.context)
        streams = [[Stream(next(self._ids), replace(r, siblings=1, first=r.first + i), options, batch, greedy)
                    for i in range(r.siblings)] for r in requests]
        self._share([rest for siblings in streams if (rest := self._returned(siblings))], self._sets[-1])
        return [s.id for siblings in streams for s in siblings]

    def _returned(self, streams: Sequence[Stream]) -> list[Stream]:
        """Gives streams back to the engines that keep their state; the others, where an engine died with it too."""
        keeper, left = {s.id: self._kept.pop(s.place, None) for s in streams}, list(streams)
        for engine in self._engines:
            own = [s for s in streams if keeper[s.id] is engine]
            if own:
                engine.give(own)
                left = [s for s in left if keeper[s.id] is not engine]
        return left

    def _share(self, groups: Iterable[Sequence[Stream]], holder: WeightSet) -> None:
        """Gives each group to the engine of a set with the fewest streams, in pieces of a fair share at most: siblings
        that stay together have their prompt computed once."""
        ready, groups = self._ready(holder), list(groups)
        if not ready:
            holder.waiting += [s for group in groups for s in group]
            return
        fair = max(1, -(-sum(map(len, groups)) // len(ready)))
        given: dict[int, list[Stream]] = {e.index: [] for e in ready}
        for group in groups:
            for start in range(0, len(group), fair):
                least = min(ready, key=lambda e: len(e.under_way) + len(given[e.index]))
                given[least.index] += group[start:start + fair]
        for engine in ready:
            if given[engine.index]:
                engine.give(given[engine.index])

    def _gather(self, seconds: float) -> None:
        """Waits for news of any engine, `seconds` at most, and takes it."""
        import ray

        waited = {e.starting if e.starting is not None else e.poll(): e for e in self._watched()}
        if not waited:
            time.sleep(seconds)
            return
        come, _ = ray.wait(list(waited), num_returns=1, timeout=min(seconds, POLL_SECONDS))
        for ref in come:
            engine = waited[ref]
            try:
                if engine.starting is not None:
                    self._started(engine)
                else:
                    self._accept(engine, engine.report(self.deadline))
            except Gone as error:
                self._lost(engine, error)
        self._require_moving()

    def _watched(self) -> list[EngineProcess]:
        """Engines that are to be heard of. One that loads is not: what it says is waited for where it was sent."""
        loads = self._sent.target if self._sent is not None else None
        return [e for e in self._engines if e.holds is not loads and (e.starting is not None or e.under_way)]

    def _accept(self, engine: EngineProcess, report: Report) -> None:
        for stream, found in report.finished:
            require_sound(engine.name, engine.under_way, stream, found, self.spec.vocabulary,
                          candidates=self.spec.candidates)
            del engine.under_way[stream]
            self._finished.append((stream, found))

    def _require_moving(self) -> None:
        """RunError RL604 for an engine that has something to do and does nothing."""
        now = time.monotonic()
        for engine in self._watched():
            limit = self.deadline if engine.starting is None else START_DEADLINE
            if now - engine.moved > limit:
                what = engine.busy_with() if engine.starting is None else "it starts"
                raise stalled(engine.name, now - engine.moved, what)

    # ── deaths ───────────────────────────────────────────────────────────────────────────────────────

    def _lost(self, engine: EngineProcess, error: Gone) -> None:
        """Replaces a dead engine and has its streams sampled elsewhere, or by its successor."""
        streams = list(engine.under_way.values())
        self._replace(engine, error)
        self._share([[s] for s in streams], engine.holds)

    def _replace(self, engine: EngineProcess, error: Gone) -> None:
        """Starts a dead engine anew with the weights of its set."""
        import ray

        asked = f"the run waited for it ({error}); " if error.args else ""
        costs = f"{asked}{len(engine.under_way)} responses under way there are sampled again"
        holder = engine.holds
        if engine.deaths == DEATHS or holder.weights is None:
            before = f"{asked}it was replaced {engine.deaths} times before"
            raise RunError(dead(engine.name, error.__cause__, before)) from None
        self._tell(dead(engine.name, error.__cause__, costs, severity="warning"))
        ray.kill(engine.actor)
        new = EngineProcess(engine.index, self._spawn(engine.index), holder, deaths=engine.deaths + 1)
        new.starting = new.load(holder.version, holder.weights)
        self._engines[self._engines.index(engine)] = new

    def _started(self, engine: EngineProcess) -> None:
        """Gives a new engine what waits, once it has proved its weights."""
        starting, engine.starting, holder = engine.starting, None, engine.holds
        if answer(starting, engine.name, self.deadline, "its first weights") != holder.weights.manifest.fingerprint:
            raise RunError(_refused(holder.version, {engine.index: None}))
        engine.moved = time.monotonic()
        self._share([[s] for s in holder.give_up()], holder)

    # ── weights ──────────────────────────────────────────────────────────────────────────────────────

    def _proved(self, sent: Sent) -> tuple[dict[int, RunError | None], list[tuple[EngineProcess, Gone]]]:
        """Waits for what engines say of weights: {who refused: what it said}, and who died with the error."""
        refused: dict[int, RunError | None] = {}
        gone: list[tuple[EngineProcess, Gone]] = []
        for engine, ref in sent.to:
            limit = START_DEADLINE if sent.target.weights is None or engine.starting is not None else self.deadline
            try:
                held = answer(ref, engine.name, limit, f"version {sent.version} was sent to it")
            except Gone as error:
                gone.append((engine, error))
            except RunError as error:
                if error.diagnostic.code == "RL604":
                    raise
                refused[engine.index] = error
            else:
                engine.starting, engine.moved = None, time.monotonic()
                if held != sent.weights.manifest.fingerprint:
                    refused[engine.index] = None
        return refused, gone

    def _back(self, target: WeightSet, refused: dict[int, RunError | None],
              gone: list[tuple[EngineProcess, Gone]]) -> None:
        """All engines of a set to the weights that they had before."""
        if target.weights is None:
            return
        ended = {e.index for e, _ in gone} | {index for index, error in refused.items() if error is not None}
        for engine in self._of(target):
            if engine.index in ended:
                self._lost(engine, _gone(refused.get(engine.index)))
                continue
            held = answer(engine.load(target.version, target.weights), engine.name, self.deadline, "it goes back")
            if held != target.weights.manifest.fingerprint:
                raise RunError(_refused(target.version, {engine.index: None}))


def _gone(error: RunError | None) -> Gone:
    gone = Gone()
    gone.__cause__ = error or RunError(Diagnostic("RL605", "its process is gone"))
    return gone


def _refused(version: int, refused: dict[int, RunError | None], *, again: bool = False) -> Diagnostic:
    """RL616; a warning where the weights are sent once more."""
    who = " and ".join(f"rollout engine {index}" for index in refused)
    said = [error.diagnostic.message for error in refused.values() if error is not None]
    goes_on = "they are sent once more" if again else "every engine goes on with the version before"
    return Diagnostic(
        "RL616", f"{who} did not take over version {version} of the weights", severity="warning" if again else "error",
        why=said[0] if said else f"the fingerprint of what it holds is not that of what was sent; {goes_on}",
        fix="nothing to do, unless it happens again" if again else "report it with the journal: sampling from other "
            "weights than the trainer's is training on another policy")
