"""How long each response takes: drawn from a distribution, or as a run's journal recorded it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from rldsl.axes.base import Latency
from rldsl.axes.control import Event
from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.runtime.journal import FILE, read_journal

Sample = tuple[float, int]
"""Seconds from first token to last, and the number of tokens."""


@dataclass(frozen=True)
class Trace:
    """`group(g, n)` gives the n responses to prompt g, the same for every schedule. `mean` is of all responses,
    `source` says where the times are from; the others are what a journal recorded: the trainer's seconds for a token,
    those of a push, those from a stop to the last score of what had ended, and the most responses that were open at a
    time."""

    group: Callable[[int, int], list[Sample]]
    mean: Sample
    source: str
    train: float | None = None
    push: float | None = None
    pause: float | None = None
    peak: int | None = None


def drawn(latency: Latency, written: str, rate: float, most: int, seed: int) -> Trace:
    """Responses of `rate` tokens a second whose times are a distribution's, ended at `most` tokens. The mean is taken
    over 4096 quantiles."""
    def sample(share: float) -> Sample:
        seconds = min(latency.quantile(share), most / rate)
        return seconds, max(1, round(seconds * rate))

    def group(number: int, count: int) -> list[Sample]:
        draw = random.Random(f"latency/{seed}/{number}")
        return [sample(min(max(draw.random(), 1e-12), 1 - 1e-12)) for _ in range(count)]

    grid = [sample((k + 0.5) / 4096) for k in range(4096)]
    return Trace(group, _mean(grid), f"{written}, {rate:.4g} tokens/s up to {most:,} tokens, seed {seed}")


def recorded(folder: Path, seed: int) -> Trace:
    """The responses of a live run: those of a prompt where it was recorded with all of them, else drawn anew from all.
    RecipeError RL407 as for `controls`."""
    heard = [c for c in controls(folder) if "event" in c]
    told = [(Event.from_json(c["event"]), c["seconds"]) for c in heard]
    of: dict[int, list[Sample]] = {}
    for event, seconds in told:
        if event.kind == "finished":
            of.setdefault(event.group, []).append((seconds, max(1, event.tokens)))
    rows = [row for group in of.values() for row in group]

    def group(number: int, count: int) -> list[Sample]:
        own = of.get(number, ())
        return list(own) if len(own) == count else random.Random(f"latency/{seed}/{number}").choices(rows, k=count)

    return Trace(group, _mean(rows), f"{len(rows)} responses of {folder}, seed {seed}",
                 _per_token(heard, of), _lasts(told, "published"), _lasts(told, "paused"), _peak(heard))


def _lasts(told: list[tuple[Event, float]], kind: str) -> float | None:
    """Mean seconds that came with the events of a kind."""
    seconds = [s for event, s in told if event.kind == kind and s > 0]
    return fmean(seconds) if seconds else None


def _per_token(heard: list[Mapping[str, Any]], of: Mapping[int, list[Sample]]) -> float | None:
    """Seconds of training over the tokens that were trained in them."""
    seconds, tokens, handed = 0.0, 0, 0
    for control in heard:
        if control["event"]["kind"] == "updated":
            seconds, tokens = seconds + control["seconds"], tokens + handed
        handed = next((sum(n for g in a.get("groups", ()) for _, n in of.get(g, ())) for a in control["actions"]
                       if a["kind"] == "train"), handed)
    return seconds / tokens if tokens else None


def _peak(heard: list[Mapping[str, Any]]) -> int:
    """The most responses that were open at a time."""
    siblings = open_now = peak = 0
    for control in heard:
        event = Event.from_json(control["event"])
        siblings = event.siblings or siblings
        open_now -= event.kind in ("finished", "retired")
        open_now += siblings * sum(a.get("prompts", 0) for a in control["actions"])
        peak = max(peak, open_now)
    return peak


def controls(folder: Path) -> list[Mapping[str, Any]]:
    """What the schedule of a live run heard and decided. RecipeError RL407 where the folder holds no journal, or none
    with single responses; RunError RL609 where it is damaged."""
    if not (folder / FILE).is_file():
        raise _unusable(f"{folder} holds no {FILE}", "name the folder of a run; --latency also takes a distribution "
                                                      "such as 'pareto(20s, alpha: 1.5)'")
    found = [e.data for e in read_journal(folder) if e.kind == "control"]
    if not any(c.get("event", {}).get("kind") == "finished" for c in found):
        raise _unusable(f"the journal in {folder} has no single responses",
                        "take a run whose schedule answers prompts one by one; others record whole batches")
    return found


def _mean(rows: list[Sample]) -> Sample:
    return fmean(s for s, _ in rows), round(fmean(n for _, n in rows))


def _unusable(message: str, fix: str) -> RecipeError:
    why = "the journal of a live run has what its schedule heard, and how long each response took"
    return RecipeError([Diagnostic("RL407", message, why=why, fix=fix)])
