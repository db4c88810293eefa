"""What two recipes differ in: one class per kind of change, each with a sentence and the fingerprint it moves.

The comparison is over canonical forms, so it is empty exactly when all fingerprints are equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from .canonical import ONE, PIPES, canonical, key
from .fingerprint import SEED, moves
from .recipe import Recipe
from .show import show_data

CANONICAL_AXES = ("feedback", "sampling", "advantage", "ratio", "gate", "regularisers", "reduction", "distribution",
                  "schedule", "placement")
AXIS_OF = {"regularisers": "gate", "schedule": "system", "placement": "system"}
"""The language's axis for those parts of one that are kept apart in the canonical form."""


@dataclass(frozen=True)
class Change:
    """One difference. `place` is the axis or block, `moves` the fingerprint (or seed) that it changes."""

    place: str
    moves: str

    @property
    def sentence(self) -> str:
        """What changed, in plain words."""
        raise TypeError(f"{type(self).__name__} says nothing")


@dataclass(frozen=True)
class ChoiceReplaced(Change):
    """Another choice answers the axis's question."""

    old: str
    new: str

    @property
    def sentence(self) -> str:
        return f"{self.place}: {self.old} is replaced by {self.new}."


@dataclass(frozen=True)
class ParameterChanged(Change):
    """The same choice with another value."""

    choice: str
    parameter: str
    old: str
    new: str

    @property
    def sentence(self) -> str:
        return f"{self.place}: `{self.parameter}` of {self.choice} goes from {self.old} to {self.new}."


@dataclass(frozen=True)
class MeaningChanged(Change):
    """The same name, another version of its definition."""

    choice: str
    old: str
    new: str

    @property
    def sentence(self) -> str:
        return f"{self.place}: {self.choice} is defined differently, {self.old} became {self.new}."


@dataclass(frozen=True)
class TermAdded(Change):
    """One more term in a sum, or stage in a pipe."""

    term: str

    @property
    def sentence(self) -> str:
        return f"{self.place}: {self.term} is added."


@dataclass(frozen=True)
class TermRemoved(Change):
    """One term or stage fewer."""

    term: str

    @property
    def sentence(self) -> str:
        return f"{self.place}: {self.term} is removed."


@dataclass(frozen=True)
class WeightChanged(Change):
    """A reward term counts more or less."""

    term: str
    old: str
    new: str

    @property
    def sentence(self) -> str:
        return f"{self.place}: the weight of {self.term} goes from {self.old} to {self.new}."


@dataclass(frozen=True)
class OrderChanged(Change):
    """The same terms or stages in another order, where order means something."""

    old: str
    new: str

    @property
    def sentence(self) -> str:
        return f"{self.place}: the order {self.old} becomes {self.new}."


@dataclass(frozen=True)
class SettingChanged(Change):
    """A setting beside the axes."""

    setting: str
    old: str
    new: str

    @property
    def sentence(self) -> str:
        return f"{self.place}: `{self.setting}` goes from {self.old} to {self.new}."


@dataclass(frozen=True)
class SeedChanged(Change):
    """Other random numbers, the same experiment otherwise."""

    old: str
    new: str

    @property
    def sentence(self) -> str:
        return f"seed: goes from {self.old} to {self.new}; the draws differ, the method does not."


def diff(a: Recipe | Mapping[str, Any], b: Recipe | Mapping[str, Any]) -> list[Change]:
    """Every change from `a` to `b` (typed recipes or canonical forms), in the order of axes, then blocks."""
    old, new = (canonical(x) if isinstance(x, Recipe) else x for x in (a, b))
    found: list[Change] = []
    for axis in CANONICAL_AXES:
        found += _axis(axis, old["axes"][axis], new["axes"][axis])
    for block in new["settings"]:
        for name, value in new["settings"][block].items():
            target = moves(block, name)
            if target:
                found += _setting(block, name, old["settings"][block].get(name), value, target)
    if old["seed"] != new["seed"]:
        found.append(SeedChanged("seed", SEED, str(old["seed"]), str(new["seed"])))
    return found


# ── axes ─────────────────────────────────────────────────────────────────────────────────────────────

@dataclass(frozen=True)
class _Place:
    """Where a comparison is made; it stamps every change with the axis and the fingerprint."""

    axis: str
    moves: str

    def of(self, kind: type, *values: str) -> Change:
        return kind(self.axis, self.moves, *values)


def _axis(name: str, old: Any, new: Any) -> Iterator[Change]:
    place = _Place(AXIS_OF.get(name, name), moves(name) or "")
    if key(old) == key(new):
        return iter(())
    if name == "feedback":
        return _feedback(place, old, new)
    if name in ONE:
        return _choice(place, old, new)
    return _pipe(place, old, new) if name in PIPES else _terms(place, old, new)


def _choice(place: _Place, old: Mapping, new: Mapping) -> Iterator[Change]:
    """One choice against another."""
    if old["choice"] != new["choice"]:
        yield place.of(ChoiceReplaced, show_data(old), show_data(new))
        return
    versions = [" ".join([f"version {x['version']}", *([f"of {x['package']}"] if "package" in x else [])])
                for x in (old, new)]
    if versions[0] != versions[1]:
        yield place.of(MeaningChanged, new["choice"], *versions)
    for name in dict.fromkeys([*old["params"], *new["params"]]):
        before, after = old["params"].get(name), new["params"].get(name)
        if key(before) != key(after):
            yield place.of(ParameterChanged, new["choice"], name, show_data(before), show_data(after))


def _terms(place: _Place, old: Sequence, new: Sequence) -> Iterator[Change]:
    """Two sets of choices whose order means nothing: equal ones first, then those of the same name."""
    gone, come = _without_common(old, new)
    for before in list(gone):
        after = next((x for x in come if x["choice"] == before["choice"]), None)
        if after is not None:
            gone.remove(before)
            come.remove(after)
            yield from _choice(place, before, after)
    yield from (place.of(TermRemoved, show_data(x)) for x in gone)
    yield from (place.of(TermAdded, show_data(x)) for x in come)


def _without_common(old: Sequence, new: Sequence) -> tuple[list, list]:
    come, gone = list(new), []
    for x in old:
        same = next((y for y in come if key(y) == key(x)), None)
        come.remove(same) if same is not None else gone.append(x)
    return gone, come


def _pipe(place: _Place, old: Sequence, new: Sequence) -> Iterator[Change]:
    """Two chains of stages: the first stage against the first, later ones aligned by name."""
    yield from _choice(place, old[0], new[0])
    before, after = old[1:], new[1:]
    names = [[x["choice"] for x in side] for side in (before, after)]
    if sorted(names[0]) == sorted(names[1]) and names[0] != names[1]:
        yield place.of(OrderChanged, *(" | ".join(n) for n in names))
        before, after = (sorted(side, key=lambda x: x["choice"]) for side in (before, after))
        names = [[x["choice"] for x in side] for side in (before, after)]
    for tag, i, j, k, m in SequenceMatcher(None, *names, autojunk=False).get_opcodes():
        if tag == "equal":
            for x, y in zip(before[i:j], after[k:m], strict=True):
                yield from _choice(place, x, y)
        else:
            yield from (place.of(TermRemoved, show_data(x)) for x in before[i:j])
            yield from (place.of(TermAdded, show_data(x)) for x in after[k:m])


# ── feedback ─────────────────────────────────────────────────────────────────────────────────────────

def _feedback(place: _Place, old: Mapping, new: Mapping) -> Iterator[Change]:
    """Two sums of weighted terms, aligned by the names of the choices in each."""
    gone, come = _without_common(_summands(old), _summands(new))
    changed = False
    for before in list(gone):
        after = next((x for x in come if _names(x) == _names(before)), None)
        if after is not None:
            gone.remove(before)
            come.remove(after)
            changed = True
            yield from _summand(place, before, after)
    changed = changed or bool(gone or come)
    if len(gone) == len(come) == 1:
        yield place.of(ChoiceReplaced, show_data(gone[0]), show_data(come[0]))
    else:
        yield from (place.of(TermRemoved, show_data(x)) for x in gone)
        yield from (place.of(TermAdded, show_data(x)) for x in come)
    if not changed:
        yield place.of(OrderChanged, show_data(old), show_data(new))


def _summands(data: Mapping) -> list[Mapping]:
    return list(data["sum"]) if "sum" in data else [data]


def _weight(data: Mapping) -> tuple[float, Mapping]:
    return (data["scale"], data["of"]) if "scale" in data else (1.0, data)


def _names(data: Mapping) -> str:
    """The structure of a term with names only, so that terms of other parameters still match."""
    body = _weight(data)[1]
    if "choice" in body:
        return body["choice"]
    inner = next(kind for kind in ("product", "vector", "sum") if kind in body)
    return f"{inner}({','.join(sorted(_names(x) for x in body[inner]))})"


def _summand(place: _Place, old: Mapping, new: Mapping) -> Iterator[Change]:
    (before, body), (after, other) = _weight(old), _weight(new)
    if before != after:
        yield place.of(WeightChanged, show_data(other), show_data(before), show_data(after))
    if "choice" in body:
        yield from _choice(place, body, other)
    elif key(body) != key(other):
        yield place.of(ChoiceReplaced, show_data(body), show_data(other))


# ── settings ───────────────────────────────────────────────────────────────────────────

def _setting(block: str, name: str, old: Any, new: Any, target: str) -> Iterator[Change]:
    place = _Place(block, target)
    if key(old) == key(new):
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping) and "choice" in old and "choice" in new:
        yield from _choice(place, old, new)
    elif isinstance(new, list):
        gone, come = _without_common(old, new)
        yield from (place.of(TermRemoved, show_data(x)) for x in gone)
        yield from (place.of(TermAdded, show_data(x)) for x in come)
        if not gone and not come:
            yield place.of(OrderChanged, show_data(old), show_data(new))
    else:
        yield place.of(SettingChanged, name, show_data(old), show_data(new))
