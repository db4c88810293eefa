"""The live event loop: it owns all state, does what the schedule decides, and writes every event into the journal.

Rollouts come from a streaming engine, training and scoring go on in a thread each, and everything else happens here,
one thing after another. What a batch goes through stays the graph's nodes. No schedule is known here by name.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from rldsl.algebra.evaluate import Value
from rldsl.algebra.expr import UPDATE
from rldsl.algebra.variables import TRAINER_VERSION
from rldsl.axes.control import Action, Event, State, performed
from rldsl.diagnostics import Diagnostic

from . import pool as pools
from .answers import STALL, Answers, stalled
from .errors import RunError
from .executor import exhausted, phases, report, walk
from .flight import in_flight, require_open
from .pool import Group
from .protocols import ServingRollout, StreamingRollout
from .pushes import Pushes
from .run import Run, Score
from .scoring import ScoreItem, ScoreResult
from .stages_after import keep
from .stages_data import answered, require_finite_logps, sampling_options, table_of
from .trajectory import Request, Trajectory
from .whole_batches import refuse
from .work import RETIRED, Work

WAIT = 0.02
"""Seconds that the loop waits for a response before it looks at the trainer again."""


def execute(run: Run, stream: StreamingRollout | ServingRollout, *, stall: float = STALL) -> None:
    """Trains from where `run.progress` stands to the last batch. RunError where it cannot go on, RL604 where engines
    alone are waited for and none moves for `stall` seconds, RL406 for what needs whole batches of answers."""
    refuse(run, stream)
    with ThreadPoolExecutor(1, "train") as trainer, ThreadPoolExecutor(1, "score") as scorer:
        loop = EventLoop(run, stream, trainer, scorer, stall)
        loop.begin()
        while not loop.over():
            loop.turn()
        loop.end()


def one_at_a_time(score: Score) -> Score:
    """The same scorer for several threads."""
    lock = threading.Lock()

    def locked(items: Sequence[ScoreItem]) -> Sequence[Sequence[ScoreResult]]:
        with lock:
            return score(items)

    return locked


class EventLoop:
    """The state of a live run. `pool` has every group that was launched and is neither trained nor gone."""

    def __init__(self, run: Run, stream: StreamingRollout | ServingRollout, trainer: ThreadPoolExecutor,
                 scorer: ThreadPoolExecutor, stall: float):
        self.run, self.stream, self.trainer, self.scorer, self.stall = run, stream, trainer, scorer, stall
        self.make, self.train, after = phases(run.graph)
        self.first = [n for n in after if n.kind in ("evaluate", "checkpoint")]
        self.options = sampling_options(run.graph.of("sample")[0])
        self.state: State = {}
        self.pool: dict[int, Group] = {}
        self.events: deque[tuple[Event, float]] = deque()
        self.pending: deque[Action] = deque()
        self.clock: dict[tuple[int, int], list[float]] = {}
        self.scoring: list[tuple[Future[Work], int]] = []
        self.training: Future[None] | None = None
        self.pushes = Pushes(run, stream)
        self.work, self.gone = Work(run.progress.batch), list[Work]()
        self.updates = run.progress.updates
        self.pausing = self.paused = False
        self.dropped = 0
        self.kept = run.progress.batch
        self.news = self.stepped = self.handed = self.stopped = time.monotonic()

    # ── begin and end ────────────────────────────────────────────────────────────────────────────────

    def begin(self) -> None:
        """Gives the engine its weights, and goes on with the pool of a checkpoint or with an empty one."""
        run = self.run
        run.lend(True)
        run.rollout = Answers(self.stream, self.stall) if self.stream.serves == 1 else self.stream
        run.score = one_at_a_time(run.score)
        run.fingerprint = run.push()
        if run.fresh:
            walk(run, Work(0), self.first)
        if run.progress.pool:
            self._restore({**run.progress.pool, "state": run.progress.schedule})
        else:
            self._tell(run.terms.start(run.progress.batch, run.progress.groups))

    def over(self) -> bool:
        """Whether the last batch is trained."""
        return self.training is None and self.run.progress.batch >= self.run.settings.steps

    def end(self) -> None:
        """Gives back the prompts that are left, publishes, evaluates and keeps the last weights."""
        run = self.run
        self.stream.pause()
        self.pushes.drop()
        while self.stream.poll(0.0):
            continue
        if self.pushes.batch < run.progress.batch:
            self.pushes.publish(self.work)
        run.progress.ledger = run.progress.ledger.give_back(self.pool[g].draw for g in sorted(self.pool))
        run.progress.pool, run.progress.schedule = {}, {}
        if run.graph.of("checkpoint") and self.kept < run.progress.batch:
            keep(run)

    def _restore(self, data: dict[str, Any]) -> None:
        """Begins everything again that was open, and computes the scores of what had ended."""
        run = self.run
        kept = pools.kept_from_json(data, run.data, table_of(run, []))
        self.paused, self.pausing, self.dropped, self.state = kept.paused, kept.pausing, kept.dropped, kept.state
        if kept.exported:  # those that were kept are gone: the trainer's are newer, and no step has been taken since
            self.pushes.export(self.work)
            self.state = performed(self.state, Action("export"))
        run.record("control", state=self.state)
        self.events.extend((e, 0.0) for e in kept.events)
        self.pool, self.gone = kept.groups, kept.gone
        for group in self.pool.values():
            if group.told:
                group.work = self._scored(group)
            elif not group.open:
                self._complete(group)
        if not (self.paused or self.pausing):
            self._resume()
        self.pending.extend(kept.pending)
        self._perform()

    # ── events ───────────────────────────────────────────────────────────────────────────────────────

    def turn(self) -> None:
        """Deals with one event, or looks for new ones."""
        if self.events:
            self._decide(*self.events.popleft())
        else:
            self._gather()

    def _tell(self, event: Event, seconds: float = 0.0) -> None:
        self.events.append((event, seconds))
        self.news = time.monotonic()

    def _decide(self, event: Event, seconds: float) -> None:
        self.state, actions = self.run.schedule.step(self.state, event)
        self.run.record("control", event=event.to_json(), actions=[a.to_json() for a in actions],
                        seconds=round(seconds, 6))
        self.pending.extend(actions)
        self._perform()

    def _gather(self) -> None:
        trained = self.training is not None and self.training.done()
        judged = self.scoring[0][0].done() if self.scoring else self.pausing
        ended = self.stream.poll(0.0 if trained or judged else WAIT)
        require_finite_logps(ended)
        for trajectory in ended:
            self._ended(trajectory)
        while self.scoring and self.scoring[0][0].done():
            self._judged(*self.scoring.pop(0))
        if trained:
            self._trained()
        self._push_on()
        if self.events:
            return
        if self.pausing and not self.scoring:
            self.pausing, self.paused = False, True
            self._tell(Event("paused"), time.monotonic() - self.stopped)
        elif self.training is not None or self.scoring or self.pushes.under_way:
            return  # trainer, scorers and loading engines have deadlines of their own
        elif time.monotonic() - max(self.news, self.stream.moved) > self.stall:
            raise stalled(in_flight(self.clock) or "nothing at all: the schedule orders nothing more", self.stall)

    def _ended(self, t: Trajectory) -> None:
        group = self.pool.get(t.group)
        require_open(group, t.group, t.sibling, t.prompt, t)
        del group.open[t.sibling]
        group.done.append(t)
        spent, since = self.clock.pop((t.group, t.sibling))
        self._tell(Event("finished", group=t.group, tokens=len(t.tokens)), spent + time.monotonic() - since)
        if not group.open:
            self._complete(group)
        self._start()

    def _complete(self, group: Group) -> None:
        """Scores a group without open responses, in its thread; one without any response is gone."""
        if group.done:
            self.scoring.append((self.scorer.submit(self._scored, group), group.number))
        else:
            self._leaves(group, Work(self.state["batch"], draws={group.number: group.draw},
                                     table=table_of(self.run, []), fates={group.number: RETIRED}))

    def _scored(self, group: Group) -> Work:
        """The group as the nodes that make data leave it."""
        part = Work(group.batch, draws={group.number: group.draw},
                    problems={group.number: self.run.data.problem(group.draw.row)})
        answered(self.run, part, sorted(group.done, key=lambda t: t.sibling))
        part.counts["responses/retired"] += group.request.siblings - len(group.done)
        part.counts["responses/cut"] += sum(group.cuts.values())
        walk(self.run, part, [n for n in self.make if n.kind != "sample"])
        return part

    def _judged(self, future: Future[Work], number: int) -> None:
        group, part = self.pool[number], future.result()
        if part.groups():
            group.work, group.told = part, True
            self._tell(Event("ready", group=number))
        else:
            self._leaves(group, part)

    def _leaves(self, group: Group, part: Work) -> None:
        self.gone.append(part)
        del self.pool[group.number]
        self.dropped += 1
        filters = self.run.graph.of("filter")
        bound = min((n.options["max_rounds"] for n in filters if n.options["max_rounds"] is not None), default=None)
        if bound is not None and self.dropped == (bound - 1) * self.run.settings.prompts + 1:
            seen = Work(self.state["batch"])
            seen.include(*self.gone, *(g.work for g in self.pool.values() if g.work is not None))
            seen.counts["groups/rounds"] = bound
            exhausted(seen, filters, self.run.settings.prompts)
            self._tell(Event("exhausted"))
        self._tell(Event("dropped", group=group.number))

    def _trained(self) -> None:
        run, now = self.run, time.monotonic()
        self.training.result()
        self.training = None
        run.lend(True)
        run.progress.batch += 1
        report(run, self.work, now - self.stepped)
        self._tell(Event("updated", updates=run.progress.updates - self.updates), now - self.handed)
        self.stepped = now

    # ── actions ──────────────────────────────────────────────────────────────────────────────────────

    def _perform(self) -> None:
        while self.pending and not self.over():
            action = self.pending.popleft()
            match action.kind:
                case "launch":
                    self._launch(action.prompts)
                case "pause":
                    self._pause()
                case "resume":
                    self._resume()
                case "train":
                    self._train(action)
                case "export":
                    self.pushes.export(self.work)
                case "publish":
                    self.pushes.ordered = action
                    self._push_on()

    def _push_on(self) -> None:
        seconds = self.pushes.step(self.work)
        if seconds is not None:
            self._tell(Event("published"), seconds)

    def _launch(self, count: int) -> None:
        progress, data = self.run.progress, self.run.data
        progress.ledger, draws = progress.ledger.take(count)
        for draw in draws:
            request = Request(progress.groups, draw.row, data.tokens(draw.row), self.run.terms.siblings)
            self.pool[request.group] = pools.fresh(request, draw, progress.batch)
            progress.groups += 1
        self._start()

    def _start(self) -> None:
        """Starts what was launched and waits, as far as the sources' limit allows."""
        if self.paused or self.pausing:
            return
        starting = list(self._allowed(g for g in self.pool.values() if not g.started))
        for group in starting:
            group.started = True
        self._ask(starting)

    def _allowed(self, waiting: Iterator[Group]) -> Iterator[Group]:
        at_once = self.run.terms.at_once
        if at_once is None:
            yield from waiting
            return
        column, limit = at_once
        flight: Counter[str] = Counter()
        for group in self.pool.values():
            flight[self._source(group, column)] += len(group.open) if group.started else 0
        for group in waiting:
            source = self._source(group, column)
            if not flight[source] or flight[source] + len(group.open) <= limit:
                flight[source] += len(group.open)
                yield group

    def _source(self, group: Group, column: str) -> str:
        row = self.run.data.problem(group.draw.row).metadata
        if column not in row:
            raise RunError(Diagnostic("RL407", f"the prompt of row {group.draw.row + 1} has no column `{column}`",
                                      why="the limit for each source needs to know where a prompt comes from",
                                      fix="name the column in the sampling stage that limits sources"))
        return str(row[column])

    def _ask(self, groups: Sequence[Group]) -> None:
        now = time.monotonic()
        for batch in sorted({g.batch for g in groups}):
            asked = [g for g in groups if g.batch == batch and g.open]
            for group in asked:
                for sibling in group.open:
                    self.clock[group.number, sibling] = [self.clock.get((group.number, sibling), [0.0])[0], now]
            if asked:
                self.stream.start([r for g in asked for r in g.wanted()], self.options, batch=batch)

    def _pause(self) -> None:
        """Stops what is in flight; what was cut too often is given up."""
        self.pausing, now, survives = True, time.monotonic(), self.run.terms.survives
        self.stopped = now
        for request in self.stream.pause():
            group, sibling = self.pool.get(request.group), request.first
            require_open(group, request.group, sibling, request.prompt, request.prefix)
            group.open[sibling] = request
            clock = self.clock[group.number, sibling]
            clock[0], clock[1] = clock[0] + now - clock[1], math.inf
            if not request.prefix.tokens:
                continue
            group.cuts[sibling] = group.cuts.get(sibling, 0) + 1
            if survives is not None and group.cuts[sibling] > survives:
                del group.open[sibling], self.clock[group.number, sibling]
                self._tell(Event("retired", group=group.number))
                if not group.open:
                    self._complete(group)

    def _resume(self) -> None:
        self.paused = False
        self._ask([g for g in self.pool.values() if g.started])
        self._start()

    def _train(self, action: Action) -> None:
        """Hands a batch to the trainer's thread; before, while nothing trains, a checkpoint where one is due."""
        run, done = self.run, self.run.progress.batch
        if any(done // n.options["every"] > self.kept // n.options["every"] for n in run.graph.of("checkpoint")):
            self._keep(action)
        work = Work(action.batch, table=table_of(run, []))
        work.include(*self.gone, *(self.pool.pop(g).work for g in action.groups))
        version = Value(UPDATE, run.trainer.math.column([float(done)]))
        work.table = work.table.with_columns(**{TRAINER_VERSION.name: version})
        self.work, self.gone, self.dropped = work, [], 0
        run.lend(False)
        self.handed, self.updates = time.monotonic(), run.progress.updates
        self.training = self.trainer.submit(walk, run, work, self.train)

    def _keep(self, action: Action) -> None:
        run, self.kept = self.run, self.run.progress.batch
        run.progress.schedule = self.state
        run.progress.pool = {"groups": [pools.to_json(g) for g in self.pool.values()], "paused": self.paused,
                             "pausing": self.pausing,
                             "gone": [pools.gone_to_json(w) for w in self.gone], "dropped": self.dropped,
                             "pending": [a.to_json() for a in (*self.pushes.left(), action, *self.pending)],
                             "events": [e.to_json() for e, _ in self.events]}
        keep(run)
