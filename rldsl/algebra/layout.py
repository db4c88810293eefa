"""Which token belongs to which response, group, turn: the shape of a flat, ragged batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .expr import GRAINS, GROUP, ORDINAL, PAIR, POSITION, RESPONSE, SEGMENT, STATE, STEP, TOKEN, TURN, UPDATE

Labels = Sequence[Sequence[int | str]]


@dataclass(eq=False)
class Layout:
    """Sizes per grain and maps from each finer grain to each coarser one.

    `maps[fine, coarse][i]` is the unit of `coarse` that unit i of `fine` lies in. Tokens of a response are
    contiguous and in order. Derived maps are composed on first use. Two layouts are equal only if they are the
    same object, so that evaluators may keep what they derive from one.
    """

    sizes: dict[str, int]
    maps: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def index(self, fine: str, coarse: str) -> list[int]:
        """For each unit of `fine`, the unit of `coarse` it lies in. KeyError where the batch has no such grain."""
        if (fine, coarse) not in self.maps:
            self.maps[fine, coarse] = self._derive(fine, coarse)
        return self.maps[fine, coarse]

    def _derive(self, fine: str, coarse: str) -> list[int]:
        if POSITION in (fine, coarse) and POSITION not in self.sizes:
            self._divide_by_position()
            return self.index(fine, coarse)
        if fine == coarse:
            return list(range(self.size(fine)))
        if coarse == UPDATE:
            return [0] * self.size(fine)
        for middle in GRAINS[GRAINS.index(fine) + 1:GRAINS.index(coarse)]:
            if (fine, middle) in self.maps and (middle, coarse) in self.maps:
                second = self.maps[middle, coarse]
                return [second[m] for m in self.maps[fine, middle]]
        raise KeyError(f"this batch has no {coarse}s for {fine}s")

    def _divide_by_position(self) -> None:
        """Token t of every response of a group as one unit: few formulas ask for it, so it is made when one does."""
        owner, group = self.index(TOKEN, RESPONSE), self.index(TOKEN, GROUP)
        place = [0] * len(owner)
        for t in range(1, len(owner)):
            place[t] = place[t - 1] + 1 if owner[t] == owner[t - 1] else 0
        keys = list(zip(group, place, strict=True))
        self.sizes[POSITION], self.maps[TOKEN, POSITION] = _renumber(keys)
        self.maps[POSITION, GROUP] = [g for g, _ in dict.fromkeys(keys)]

    def size(self, grain: str) -> int:
        """How many units of a grain there are."""
        if grain == POSITION and POSITION not in self.sizes:
            self._divide_by_position()
        if grain not in self.sizes:
            raise KeyError(f"this batch has no {grain}s")
        return self.sizes[grain]

    def lengths(self, over: str = RESPONSE) -> list[int]:
        """Tokens in each unit of `over`."""
        out = [0] * self.size(over)
        for unit in self.index(TOKEN, over):
            out[unit] += 1
        return out


def layout(lengths: Sequence[int], groups: Sequence[int], *, pairs: Sequence[int] | None = None,
           turns: Labels | None = None, steps: Labels | None = None, segments: Labels | None = None,
           states: Labels | None = None) -> Layout:
    """The layout of responses with `lengths` action tokens, in `groups` (any labels, renumbered in order seen).

    `turns[i]`, `steps[i]` and `segments[i]` label each token of response i; `pairs[i]` the pair of response i.
    `states[i]` labels at each token the state that it is written in: the environment's, or the text so far where
    responses share one; the state of a turn, or of a step, is that of its first token.
    """
    owner = [i for i, n in enumerate(lengths) for _ in range(n)]
    sizes = {TOKEN: len(owner), RESPONSE: len(lengths), UPDATE: 1}
    maps: dict[tuple[str, str], list[int]] = {(TOKEN, RESPONSE): owner}
    sizes[GROUP], maps[RESPONSE, GROUP] = _renumber(groups)
    if pairs is not None:
        sizes[PAIR], maps[RESPONSE, PAIR] = _renumber(pairs)
    for grain, labels in ((TURN, turns), (STEP, steps), (SEGMENT, segments)):
        if labels is not None:
            keys = [(i, label) for i, row in enumerate(labels) for label in row]
            sizes[grain], maps[TOKEN, grain] = _renumber(keys)
            maps[grain, RESPONSE] = [i for i, _ in dict.fromkeys(keys)]
    if turns is not None:
        _across_siblings(ORDINAL, {TURN: [range(len(dict.fromkeys(row))) for row in turns]}, sizes, maps)
    if states is not None:
        begun = {grain: _begins(labels, states) for grain, labels in ((TURN, turns), (STEP, steps))
                 if labels is not None}
        _across_siblings(STATE, begun, sizes, maps)
    return Layout(sizes, maps)


def _begins(units: Labels, states: Labels) -> list[list[int | str]]:
    """For each response the state at the first token of each of its units."""
    first = [dict(reversed(list(zip(u, s, strict=True)))) for u, s in zip(units, states, strict=True)]
    return [[f[u] for u in dict.fromkeys(row)] for f, row in zip(first, units, strict=True)]


def _across_siblings(grain: str, labels: dict[str, Sequence[Sequence]], sizes: dict[str, int],
                     maps: dict[tuple[str, str], list[int]]) -> None:
    """A grain whose units are turns, or steps, of one group with one label; `labels[fine][i]` has one entry for each of
    them in response i."""
    numbers: dict[tuple, int] = {}
    for fine, rows in labels.items():
        keys = [(maps[RESPONSE, GROUP][i], label) for i, row in enumerate(rows) for label in row]
        maps[fine, grain] = [numbers.setdefault(key, len(numbers)) for key in keys]
    sizes[grain], maps[grain, GROUP] = len(numbers), [group for group, _ in numbers]


def _renumber(labels: Sequence) -> tuple[int, list[int]]:
    numbers: dict = {}
    index = [numbers.setdefault(label, len(numbers)) for label in labels]
    return len(numbers), index
