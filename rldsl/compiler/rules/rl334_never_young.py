"""RL334: a bound on the age of data that no data under this schedule can meet.

Some schedules make every batch, after the first, older than the trainer by at least so many versions. A bound below
that drops or masks all of it: nothing is trained.
Source: the event order of the schedule itself; for sampling one batch ahead, Noukhovitch et al. (arXiv:2410.18252).
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.evaluate import evaluate
from rldsl.algebra.grain import variables
from rldsl.algebra.layout import layout
from rldsl.algebra.variables import RESPONSES, TOKENS, TRAINER_VERSION, VERSION
from rldsl.axes.base import Distribution, Schedule
from rldsl.axes.traits import FRESH_DATA
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import names, plural, said, sampled
from ..recipe import Recipe

CODE = "RL334"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each choice that leaves nothing of data of the least age."""
    age = recipe.schedule.choice.least_lag() if sampled(recipe) else 0
    for node in recipe.distribution if age else ():
        if not leaves_any(node.choice, age):
            yield clash(
                CODE, recipe, f"{said(node)} drops everything: under {said(recipe.schedule)} all data after the first "
                f"batch is at least {plural(age, 'version')} old.",
                (node.span, f"drops what is {plural(age, 'version')} old"),
                (recipe.schedule.span, f"at least {plural(age, 'version')} behind"),
                why="From the second batch on nothing would be trained.",
                fix=f"Leave it out, allow an age of {age} or more, or sample and train in turn "
                    f"({names('system', Schedule, gives=FRESH_DATA)}).")


def leaves_any(choice: Distribution, age: int) -> bool:
    """Whether one token of this age stays, and with a weight; True where that is not a question of age alone."""
    given = {VERSION.name: [0.0], TRAINER_VERSION.name: [float(age)], RESPONSES.name: [1.0], TOKENS.name: [1.0]}
    stated = [e for e in (choice.stays(), choice.correction()) if e is not None]
    by_age = [e for e in stated if {v.name for v in variables(e)} <= given.keys()]
    return all(evaluate(e, given, layout([1], [0])).data[0] for e in by_age)
