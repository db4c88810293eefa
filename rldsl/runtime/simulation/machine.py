"""The machine that a schedule runs on in a simulation: slots that sample, a trainer, and a clock that only events move.

A response holds one slot for its time. What waits for a slot is served in order, what was stopped first. Sampling does
not slow down with the number of slots in use; scoring takes no time.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from rldsl.axes.control import Action, Event, Placement, Schedule, State
from rldsl.runtime.control import Terms

from .trace import Trace


@dataclass(frozen=True)
class Costs:
    """`slots` is the number of responses that all devices together sample at a time; `train` the seconds in which all
    of them train a full batch of mean responses; `push` the seconds that new weights take; `prefill` the tokens a
    second at which a stopped response is computed again (None: in no time); `pause` the seconds that stopping takes."""

    slots: int
    train: float
    push: float = 0.0
    prefill: float | None = None
    pause: float = 0.0


def slots(placement: Placement, costs: Costs, training: bool) -> int:
    """Whole slots that sample while the trainer works, or while it does not: one at least where any device does."""
    share = placement.samples(training)
    return max(1, int(costs.slots * share)) if share else 0


@dataclass
class Batch:
    """A batch that was handed over: when it was or will be trained, its responses and tokens, the seconds that
    training takes and that sampling took, and how many batches older than the trainer its responses began."""

    at: float
    responses: int
    tokens: int
    seconds: float
    sampling: float
    ages: Counter[int]


@dataclass
class Measured:
    """What a simulation counted. Slot-seconds of slots in use, and of slots that there were; `busy` are the seconds
    that all devices together would have needed for as much sampling; pairs are responses and their tokens: launched,
    and given up. `sampled` tokens include those of what was given up; `again` ones were computed again after a stop."""

    batches: list[Batch] = field(default_factory=list)
    used: float = 0.0
    busy: float = 0.0
    there: float = 0.0
    end: float = 0.0
    sampled: int = 0
    launched: list[int] = field(default_factory=lambda: [0, 0])
    retired: list[int] = field(default_factory=lambda: [0, 0])
    again: int = 0
    events: int = 0


class Machine:
    """One simulation. Responses are numbered `group · siblings + sibling`."""

    def __init__(self, schedule: Schedule, placement: Placement, terms: Terms, costs: Costs, trace: Trace):
        self.schedule, self.placement, self.terms, self.costs, self.trace = schedule, placement, terms, costs, trace
        self.siblings, self.now, self.order = terms.siblings, 0.0, 0
        self.state: State = {}
        self.counted = Measured()
        self._room(False)
        self.waiting: deque[int] = deque()
        self.running: dict[int, float] = {}
        self.heap: list[tuple[float, int, int]] = []
        self.later: list[tuple[float, int, Event]] = []
        self.left: dict[int, float] = {}
        self.debt: dict[int, float] = {}
        self.whole: dict[int, tuple[float, int]] = {}
        self.born: dict[int, int] = {}
        self.open: dict[int, int] = {}
        self.members: dict[int, list[int]] = {}
        self.cuts: Counter[int] = Counter()
        self.serving: Counter[int] = Counter()
        self.version = self.trained = self.groups = 0
        self.exported: int | None = None
        self.batch: tuple[int, ...] = ()
        self.paused = self.held = self.replaced = False

    def run(self, horizon: float = float("inf")) -> Measured:
        """Until the last batch is trained, nothing happens any more, or `horizon` seconds have passed."""
        self._tell(self.terms.start())
        while self.trained < self.terms.batches:
            at = min(self.heap[0][0] if self.heap else horizon, self.later[0][0] if self.later else horizon)
            if at >= horizon:
                self._pass(horizon if horizon < float("inf") else self.now)
                break
            if self.later and self.later[0][0] <= at:
                self._pass(at)
                self._happens(heapq.heappop(self.later)[2])
            else:
                _, _, response = heapq.heappop(self.heap)
                if self.running.get(response) == at:
                    self._pass(at)
                    self._ends(response)
        self.counted.end = self.now
        return self.counted

    # ── time ─────────────────────────────────────────────────────────────────────────────────────────

    def _pass(self, at: float) -> None:
        passed = at - self.now
        self.counted.used += passed * len(self.running)
        self.counted.busy += passed * self.share * len(self.running) / max(1, self.capacity)
        self.counted.there += passed * self.capacity
        self.now = at

    def _room(self, training: bool) -> None:
        """The slots that there are now, and the share of all devices that they are on."""
        self.capacity = slots(self.placement, self.costs, training)
        self.share = self.placement.samples(training)

    def _after(self, seconds: float, event: Event) -> None:
        self.order += 1
        heapq.heappush(self.later, (self.now + seconds, self.order, event))

    def _serve(self) -> None:
        """Gives free slots to what waits."""
        while self.waiting and len(self.running) < self.capacity and not self.paused:
            if self.replaced and self.waiting[0] not in self.born:
                return  # what was stopped stands before what has not begun
            response = self.waiting.popleft()
            if response not in self.born:
                self.born[response] = self.version
                self.serving[self.version] += 1
            self.order += 1
            self.running[response] = end = self.now + self.left[response] + self.debt.get(response, 0.0)
            heapq.heappush(self.heap, (end, self.order, response))

    def _stop(self, responses: Iterable[int]) -> list[int]:
        """Takes responses out of their slots, with what is left of each."""
        stopped = list(responses)
        for response in stopped:
            remaining = self.running.pop(response) - self.now
            self.debt[response] = max(0.0, remaining - self.left[response])
            self.left[response] = min(self.left[response], remaining)
        return stopped

    # ── events ───────────────────────────────────────────────────────────────────────────────────────

    def _tell(self, event: Event) -> None:
        self.counted.events += 1
        self.state, actions = self.schedule.step(self.state, event)
        for action in actions:
            self._perform(action)
        self._serve()

    def _happens(self, event: Event) -> None:
        match event.kind:
            case "updated":
                self.trained += 1
                self._resize(False)
            case "published":
                self.version, self.exported = self.trained if self.exported is None else self.exported, None
                self.replaced = False
        self._tell(event)

    def _ends(self, response: int) -> None:
        group, tokens = response // self.siblings, self.whole[response][1]
        del self.running[response], self.left[response]
        self.debt.pop(response, None)
        self.counted.sampled += tokens
        self._released(self.born[response])
        self._tell(Event("finished", group=group, tokens=tokens))
        self.open[group] -= 1
        if not self.open[group]:
            del self.open[group]
            self._tell(Event("ready", group=group))

    def _released(self, version: int) -> None:
        """A version has an open response less; a push may have waited for its last."""
        self.serving[version] -= 1
        if not self.serving[version]:
            del self.serving[version]
        if self.held:
            self._send()

    # ── actions ──────────────────────────────────────────────────────────────────────────────────────

    def _perform(self, action: Action) -> None:
        match action.kind:
            case "launch":
                self._launch(action.prompts)
            case "pause":
                self._pause()
            case "resume":
                self.paused = False
            case "train":
                self._train(action.groups)
            case "export":
                self.exported = self.trained
            case "publish":
                self._send()

    def _launch(self, count: int) -> None:
        for group in range(self.groups, self.groups + count):
            first = group * self.siblings
            samples = self.trace.group(group, self.siblings)
            self.members[group], self.open[group] = list(range(first, first + self.siblings)), self.siblings
            for response, sample in zip(self.members[group], samples, strict=True):
                self.whole[response], self.left[response] = sample, sample[0]
                self.counted.launched[0] += 1
                self.counted.launched[1] += sample[1]
            self.waiting.extend(self.members[group])
        self.groups += count

    def _pause(self) -> None:
        """Stops everything at once; what was cut too often is given up."""
        self.paused = True
        stopped = self._stop(sorted(self.running))
        self.heap.clear()
        kept = [response for response in stopped if self._survives(response)]
        self.waiting.extendleft(reversed(kept))
        self._after(self.costs.pause, Event("paused"))

    def _survives(self, response: int) -> bool:
        self.cuts[response] += 1
        seconds, tokens = self.whole[response]
        so_far = round(tokens * (1 - self.left[response] / seconds))
        if self.terms.survives is not None and self.cuts[response] > self.terms.survives:
            self.counted.retired[0] += 1
            self.counted.retired[1] += so_far
            self.counted.sampled += so_far
            self.members[response // self.siblings].remove(response)
            self._retire(response)
            return False
        if self.costs.prefill is not None and not self.schedule.keeps_state():
            self.counted.again += so_far
            self.debt[response] = so_far / self.costs.prefill
        return True

    def _retire(self, response: int) -> None:
        group = response // self.siblings
        self._released(self.born.pop(response))
        for known in (self.whole, self.left, self.debt, self.cuts):
            del known[response]
        self._after(0.0, Event("retired", group=group))
        self.open[group] -= 1
        if not self.open[group]:
            del self.open[group]
            self._after(0.0, Event("ready" if self.members[group] else "dropped", group=group))

    def _train(self, groups: tuple[int, ...]) -> None:
        rows = [r for g in groups for r in self.members.pop(g)]
        tokens = sum(self.whole[r][1] for r in rows)
        full = self.terms.prompts * self.siblings * self.trace.mean[1]
        seconds = self.costs.train * tokens / full / self.placement.trains()
        ages = Counter(self.trained - self.born.pop(row) for row in rows)
        sampling = sum(self.whole.pop(row)[0] for row in rows)
        self.counted.batches.append(Batch(self.now + seconds, len(rows), tokens, seconds, sampling, ages))
        for row in rows:
            self.cuts.pop(row, None)
        self._resize(True)
        self._after(seconds, Event("updated", updates=self.terms.updates))

    def _resize(self, training: bool) -> None:
        """What no slot is left for goes on later, the latest begun first to go."""
        self._room(training)
        latest = list(self.running)[self.capacity:]
        self.waiting.extendleft(reversed(self._stop(latest)))

    def _send(self) -> None:
        """Sends the weights, once there is place for one more version beside those in use. Where only the newest is not
        in use, they take its place, and nothing begins until they are there."""
        several = self.terms.versions > 1
        self.held = several and len(self.serving) >= self.terms.versions
        if not self.held:
            self.replaced = several and self.version not in self.serving and (
                len(self.serving) == self.terms.versions - 1)
            self._after(self.costs.push, Event("published"))


def simulate(schedule: Schedule, placement: Placement, terms: Terms, costs: Costs, trace: Trace,
             horizon: float = float("inf")) -> Measured:
    """What happens until the last of `terms.batches` is trained, or for `horizon` seconds."""
    return Machine(schedule, placement, terms, costs, trace).run(horizon)

