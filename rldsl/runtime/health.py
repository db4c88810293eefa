"""Watches the metrics of a run for signs of ill health; what to look for is in the files of the detectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rldsl.axes.detect import Detector, Seen
from rldsl.axes.discover import find, names
from rldsl.diagnostics import Diagnostic

FAMILY = Detector.axis


def watching(written: Iterable[Detector]) -> tuple[Detector, ...]:
    """Every detector there is: as the recipe writes it, else with its own thresholds."""
    known = {d.name: d for d in written}
    return tuple(known.get(name) or find(FAMILY, name)() for name in names(FAMILY))


def watch(detectors: Sequence[Detector], states: Mapping[str, Any], metrics: Mapping[str, float],
          max_tokens: int) -> tuple[dict[str, Any], list[Diagnostic]]:
    """The new state of every detector (JSON data), and what those say whose sign has just lasted long enough: a
    warning, or an error where the run is to stop. A batch without a detector's metrics leaves its state as it was."""
    now, found = dict(states), []
    for detector in detectors:
        if detector.then == "ignore" or not all(name in metrics for name in detector.reads):
            continue
        state, seen = _look(detector, states.get(detector.name) or {}, metrics, max_tokens)
        now[detector.name] = state
        if state["streak"] == detector.patience:
            found.append(_says(detector, seen))
    return now, found


def _look(detector: Detector, state: Mapping[str, Any], metrics: Mapping[str, float],
          max_tokens: int) -> tuple[dict[str, Any], Seen]:
    """`state` holds the values of the first batches and of the latest, as many as `patience`, and the streak."""
    values = {name: metrics[name] for name in (*detector.reads, *detector.also) if name in metrics}
    first, last = list(state.get("first", ())), [*state.get("last", ()), values][-detector.patience:]
    if len(first) < detector.patience:
        first.append(values)
    whole = len(first) == detector.patience
    seen = Seen(metrics, _means(first) if whole else {}, _means(last) if whole else {}, max_tokens)
    streak = state.get("streak", 0) + 1 if detector.sign(seen) else 0
    return {"first": first, "last": last, "streak": streak}, seen


def _means(batches: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Of each metric that every batch has."""
    shared = set(batches[0]).intersection(*batches)
    return {name: sum(b[name] for b in batches) / len(batches) for name in shared}


def _says(detector: Detector, seen: Seen) -> Diagnostic:
    stops = detector.then == "stop"
    message = f"{detector.name}: {detector.evidence(seen)}, for {detector.patience} batches"
    return Diagnostic(detector.code, message, why=detector.cause(seen), fix=detector.remedy,
                      severity="error" if stops else "warning")
