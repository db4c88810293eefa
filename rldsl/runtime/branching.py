"""Responses that branch by chance after steps of risen entropy, until their group is full."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .cutting import beginning, begins, own, step_labels
from .structure import Key, Shape, Tools
from .trajectory import Prefix, Request, Trajectory


@dataclass(frozen=True)
class _Looked:
    """A response's steps: where each begins, the mean entropy of its first tokens, and which sibling wrote it."""

    begins: list[int]
    entropy: list[float]
    writers: tuple[int, ...]


def branched(shape: Shape, rows: Sequence[Trajectory], given: Mapping[int, Prefix],
             tools: Tools) -> tuple[list[Trajectory], dict[Key, tuple[int, ...]]]:
    """The whole group grown from its first `rows`, and which sibling wrote each step of each response.

    Step after step, in the order of siblings, so that a group that is full early took its earliest branches.
    """
    rows, places = list(rows), Counter(t.group for t in rows)
    looked = _look(shape, rows, {}, given, tools)
    step = 0
    while step < max(len(x.begins) for x in looked.values()):
        drawn = _drawn(shape, step, rows, looked, places, given, tools)
        new = tools.ask([request for request, _ in drawn])
        before = {t.key: looked[parent].writers[:step + 1] for t, (_, parent) in zip(new, drawn, strict=True)}
        looked |= _look(shape, new, before, given, tools)
        rows, step = sorted(rows + new, key=lambda t: t.key), step + 1
    first = {t.group: t for t in rows}
    missing = [Request(g, t.row, t.prompt, shape.siblings - places[g], places[g], given[g]) for g, t in first.items()]
    new = tools.ask([r for r in missing if r.siblings])
    looked |= _look(shape, new, {}, given, tools)
    return sorted(rows + new, key=lambda t: t.key), {key: x.writers for key, x in looked.items()}


def _look(shape: Shape, rows: Sequence[Trajectory], before: Mapping[Key, tuple[int, ...]], given: Mapping[int, Prefix],
          tools: Tools) -> dict[Key, _Looked]:
    """The steps of responses of which the first were written by `before`, the others by themselves."""
    found, written = {}, [own(t, given) for t in rows]
    for t, entropy in zip(written, tools.entropy(written), strict=True):
        at = begins(step_labels(shape.cut, t.tokens, tools.decode))
        ends = [*at[1:], len(t.tokens)]
        risen = [statistics.fmean(entropy[a:min(b, a + shape.branching["window"])])
                 for a, b in zip(at, ends, strict=True)]
        theirs = before.get(t.key, ())
        found[t.key] = _Looked(at, risen, theirs + (t.sibling,) * (len(at) - len(theirs)))
    return found


def _drawn(shape: Shape, step: int, rows: Sequence[Trajectory], looked: Mapping[Key, _Looked], places: Counter[int],
           given: Mapping[int, Prefix], tools: Tools) -> list[tuple[Request, Key]]:
    """The branches after one step, each with the response that it leaves; takes their places in the groups."""
    found = []
    for t in rows:
        x = looked[t.key]
        if step + 1 >= len(x.begins) or places[t.group] >= shape.siblings:
            continue
        rule = shape.branching
        chance = rule["probability"] + rule["weight"] * (x.entropy[step] - x.entropy[0])
        if tools.chance((*t.key, step)) < chance:
            prefix = beginning(t, len(given[t.group].tokens) + x.begins[step + 1])
            found.append((Request(t.group, t.row, t.prompt, 1, places[t.group], prefix), t.key))
            places[t.group] += 1
    return found
