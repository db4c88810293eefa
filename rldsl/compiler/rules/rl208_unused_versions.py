"""RL208: more sets of weights are served at once than pushes can ever find in use.

Where the schedule samples and trains in turn, all responses have ended or stand still when weights are sent, and one
set does. Where data is at most k batches older than the trainer, so is what is under way: k + 1 sets are the most.
Source: no option is without effect; the bound is `Schedule.lag` of the schedule, proved in its file.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import plural, said, sampled
from ..recipe import Recipe

CODE = "RL208"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding; a schedule without a bound refuses no number."""
    schedule, placement = recipe.schedule, recipe.placement
    most, serves = schedule.choice.in_use(), placement.choice.serves()
    if most is None or serves <= most or not sampled(recipe):
        return
    met = most > 1
    yield clash(
        CODE, recipe, f"{said(placement)} serves {plural(serves, 'set')} of weights at once, and under "
        f"{said(schedule)} {f'at most {most} are' if met else 'only one is'} ever in use.",
        (placement.where("versions"), plural(serves, "set")),
        (schedule.span, f"data is at most {most - 1} batch{'es' * (most > 2)} old" if met
         else "nothing is under way while weights are sent"),
        why="Each further set takes the memory of the weights once more and is never sampled from.",
        fix=f"Write versions: {most}, or a schedule under which data grows older." if met
            else "Leave versions out, or choose a schedule that samples while it trains.")
