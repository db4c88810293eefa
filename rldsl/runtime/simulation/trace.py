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
    `source` says where the times are from; the last two are what a journal recorded: seconds of a batch's training
    and of a push."""

    group: Callable[[int, int], list[Sample]]
    mean: Sample
    source: str
    train: float | None = None
    push: float | None = None


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
    """The responses of a live run, drawn anew for every place in a group. RecipeError RL407 as for `controls`."""
    told = [(Event.from_json(c["event"]), c["seconds"]) for c in controls(folder) if "event" in c]
    rows = [(seconds, event.tokens) for event, seconds in told if event.kind == "finished" and seconds > 0]
    train, push = ([s for e, s in told if e.kind == kind and s > 0] for kind in ("updated", "published"))

    def group(number: int, count: int) -> list[Sample]:
        return random.Random(f"latency/{seed}/{number}").choices(rows, k=count)

    return Trace(group, _mean(rows), f"{len(rows)} responses of {folder}, seed {seed}",
                 fmean(train) if train else None, fmean(push) if push else None)


def controls(folder: Path) -> list[Mapping[str, Any]]:
    """What the schedule of a live run heard and decided. RecipeError RL407 where the folder holds no journal, or none
    with single responses; RunError RL609 where it is damaged."""
    if not (folder / FILE).is_file():
        raise _unusable(f"{folder} holds no {FILE}", "name the folder of a run, or a distribution such as "
                                                      "'pareto(20s, alpha: 1.5)'")
    found = [e.data for e in read_journal(folder) if e.kind == "control"]
    if not any(c.get("event", {}).get("kind") == "finished" for c in found):
        raise _unusable(f"the journal in {folder} has no single responses",
                        "take a run whose schedule answers prompts one by one; others record whole batches")
    return found


def _mean(rows: list[Sample]) -> Sample:
    return fmean(s for s, _ in rows), round(fmean(n for _, n in rows))


def _unusable(message: str, fix: str) -> RecipeError:
    why = "a simulation needs to know how long responses take"
    return RecipeError([Diagnostic("RL407", message, why=why, fix=fix)])
