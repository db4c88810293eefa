"""Responses that share their beginnings, or continue one another: grown by what the plan says, in rounds of requests.

What a response began with and did not write is part of its context: it is moved into the prompt, so that no formula,
mask or length ever sees it. What a response wrote stays its own, also where siblings share it.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rldsl.algebra.evaluate import Value
from rldsl.algebra.expr import RESPONSE, STEP, TOKEN
from rldsl.algebra.text import from_data
from rldsl.algebra.variables import MC_SPREAD, MC_VALUE, SCORES

from .batch import Batch, PlainMath
from .branching import branched
from .cutting import Decode, beginning, begins, own, step_labels
from .structure import LABELS, Grown, Key, Shape, State, Tools
from .trajectory import Prefix, Request, Trajectory


def grow(shape: Shape, requests: Sequence[Request], tools: Tools) -> Grown:
    """Answers to one request per prompt, in the order of groups and siblings."""
    given = _beginnings(shape, requests, tools)
    if shape.restart is not None:
        given = _restarts(shape, requests, given, tools)
    rows = tools.ask([replace(r, siblings=shape.started, prefix=given[r.group]) for r in requests])
    parts = {t.key: (t.sibling,) * (len(shape.forks) + 1) for t in rows}
    if shape.branching is not None:
        rows, parts = branched(shape, rows, given, tools)
    for level, fork in enumerate(shape.forks):
        rows = sorted(rows + _forked(shape, fork, level, rows, parts, given, tools), key=lambda t: t.key)
    written = [own(t, given) for t in rows]
    if shape.cut is None:
        return Grown(written)
    steps = [step_labels(shape.cut, t.tokens, tools.decode) for t in written]
    continued, states = _continued(shape, rows, steps, given, tools)
    return Grown(written, _labels(shape, written, steps, parts), continued, states)


def cut_up(cut: Mapping[str, Any] | None, rows: list[Trajectory], decode: Decode) -> Grown:
    """Responses that nobody samples, with their steps where there is a cut."""
    labels = {} if cut is None else {LABELS[cut["grain"]]: [step_labels(cut, t.tokens, decode) for t in rows]}
    return Grown(rows, labels)


def _beginnings(shape: Shape, requests: Sequence[Request], tools: Tools) -> dict[int, Prefix]:
    """What the responses of each group begin with: nothing, or what another policy wrote, without its end."""
    if shape.begin is None:
        return {r.group: r.prefix for r in requests}
    found = tools.ask([replace(r, siblings=1) for r in requests], policy=shape.begin["policy"],
                      max_tokens=shape.begin["tokens"])
    return {t.group: beginning(t, len(t.tokens) - (t.finish == "stop")) for t in found}


def _restarts(shape: Shape, requests: Sequence[Request], given: Mapping[int, Prefix],
              tools: Tools) -> dict[int, Prefix]:
    """What each group begins with after one of its responses was looked at. Where a score is missing, nothing new."""
    rows = tools.ask([replace(r, first=shape.siblings, siblings=1, prefix=given[r.group]) for r in requests])
    steps = [step_labels(shape.cut, own(t, given).tokens, tools.decode) for t in rows]
    asked = replace(shape, siblings=shape.siblings + 1, continuations=shape.restart["probes"])
    probes, states = _continued(asked, rows, steps, given, tools)
    scores: dict[State, list[float]] = {}
    for probe, score in zip(probes, tools.judge(probes), strict=True):
        for state in states[probe.key] if score is not None else ():
            scores.setdefault(state, []).append(score)
    found = dict(given)
    for t, labels, score in zip(rows, steps, tools.judge(rows), strict=True):
        at = begins(labels)
        each = [scores.get((*t.key, step), []) for step in range(len(at))]
        if score is not None and all(each):
            chosen = _choose(shape, labels, each, score)
            found[t.group] = beginning(t, len(given[t.group].tokens) + at[chosen])
    return found


def _choose(shape: Shape, labels: Sequence[int], scores: Sequence[Sequence[float]], own: float) -> int:
    """The step of one response that the plan's formula prefers."""
    means, spreads = [statistics.fmean(s) for s in scores], [statistics.pstdev(s) for s in scores]
    columns = {MC_VALUE.name: Value(TOKEN, [means[k] for k in labels]), SCORES.name: Value(RESPONSE, [own]),
               MC_SPREAD.name: Value(TOKEN, [spreads[k] for k in labels])}
    looked = Batch.of([len(labels)], [0], columns, PlainMath(), steps=[labels])
    worth = looked.value(from_data(shape.restart["choose"]), STEP).data
    return worth.index(max(worth))


def _forked(shape: Shape, fork: Mapping[str, int], level: int, rows: Sequence[Trajectory],
            parts: dict[Key, tuple[int, ...]], given: Mapping[int, Prefix], tools: Tools) -> list[Trajectory]:
    """New siblings that part from each response after some of its steps; one that has no more is its own sibling."""
    taken = dict.fromkeys(given, 0)
    for t in rows:
        taken[t.group] += 1
    requests, ended = [], []
    for t in rows:
        first, times = taken[t.group], fork["times"]
        taken[t.group] += times
        written = own(t, given)
        at = begins(step_labels(shape.cut, written.tokens, tools.decode))[fork["after"]:]
        lineage = parts[t.key]
        if at:
            prefix = beginning(t, len(t.tokens) - len(written.tokens) + at[0])
            requests.append(Request(t.group, t.row, t.prompt, times, first, prefix))
        else:
            ended += [replace(t, sibling=first + i) for i in range(times)]
        for i in range(times):
            new = (first + i,) * (len(lineage) - level - 1)
            parts[t.group, first + i] = lineage[:level + 1] + new if at else lineage
    return tools.ask([r for r in requests if r.siblings]) + ended


def _continued(shape: Shape, rows: Sequence[Trajectory], steps: Sequence[Sequence[int]], given: Mapping[int, Prefix],
               tools: Tools) -> tuple[list[Trajectory], dict[Key, tuple[State, ...]]]:
    """Continuations from where each step begins; a text that several responses begin with is continued once."""
    if not shape.continuations:
        return [], {}
    sharing: dict[tuple[int, tuple[int, ...]], list[State]] = {}
    requests: list[Request] = []
    taken = dict.fromkeys(given, shape.siblings)
    for t, labels in zip(rows, steps, strict=True):
        for step, start in enumerate(begins(labels)):
            prefix = beginning(t, len(given[t.group].tokens) + start)
            text = (t.group, prefix.tokens)
            if text not in sharing:
                requests.append(Request(t.group, t.row, t.prompt, shape.continuations, taken[t.group], prefix))
                taken[t.group] += shape.continuations
            sharing.setdefault(text, []).append((t.group, t.sibling, step))
    states = {(r.group, r.first + i): tuple(sharing[r.group, r.prefix.tokens])
              for r in requests for i in range(r.siblings)}
    return tools.ask(requests), states


def _labels(shape: Shape, rows: Sequence[Trajectory], steps: Sequence[Sequence[int]],
            parts: Mapping[Key, tuple[int, ...]]) -> dict[str, list[list[int | str]]]:
    """The steps of each response, or the parts between its forks, and where responses share some the text that each
    begins with: it is what the writer of the part before wrote until then."""
    name = LABELS[shape.cut["grain"]]
    if shape.forks:
        steps = [[sum(step >= fork["after"] for fork in shape.forks) for step in labels] for labels in steps]
    elif shape.branching is None:
        return {name: [list(labels) for labels in steps]}
    states = [[f"{part}.{parts[t.key][part - 1]}" if part else "" for part in labels]
              for t, labels in zip(rows, steps, strict=True)]
    return {name: [list(labels) for labels in steps], "states": states}
