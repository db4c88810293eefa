"""Toy tasks: found by file name in `rldsl/environments/toy`, imported when a recipe names one."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import typing
from pathlib import Path
from typing import Any

from rldsl.axes.types import Bound

from .problem import Problem, Split, Task
from .rows import Reader, RowError
from .space import Space, SplitSpace
from .spec import TaskSpec, literal, wrong

PACKAGE = "rldsl.environments.toy"
FOLDER = Path(__file__).parent.parent / "toy"


def toy_names() -> list[str]:
    """The toy tasks there are: the files in `rldsl/environments/toy`."""
    return sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))


def load_toy(spec: TaskSpec, split: Split, read: Reader, seed: int) -> Task:
    """One split of a toy task. RecipeError RL201, RL203, RL204 or RL205 for a wrong name, column or parameter."""
    space = _space(spec)
    part = SplitSpace(space, split, seed)

    def build(index: int) -> Problem:
        number = part.number(index)
        prompt, answer = space.problem(number)
        row = {"prompt": prompt, "answer": answer, "toy": spec.name, **_judged(space, number, answer)}
        return Problem(f"toy:{spec.name}#{number}", *read(row), row)

    try:
        build(0)
    except RowError as error:
        raise wrong("RL201", spec, f"'{spec.text}': {error}",
                    "its columns are prompt, answer, chosen, rejected, response and label") from None
    return Task(spec.text, split, part.size(), True, build)


def _judged(space: Space, number: int, answer: str) -> dict[str, str | bool]:
    """Stored responses: the answer and a near miss as a pair, and one of the two with its label."""
    wrong, good = _near_miss(space, number, answer), number % 2 == 0
    return {"chosen": answer, "rejected": wrong, "response": answer if good else wrong, "label": good}


def _near_miss(space: Space, number: int, answer: str) -> str:
    """The answer up to some place, where it breaks off with a character that only a later problem's answer has."""
    at, later = number % len(answer), (space.problem((number + k) % space.count())[1] for k in range(1, space.count()))
    strange = (c for other in later for c in other if c not in answer)
    return answer[:at] + next(strange, answer)


def _space(spec: TaskSpec) -> Space:
    if spec.name not in toy_names():
        near = difflib.get_close_matches(spec.name, toy_names(), 1)
        raise wrong("RL201", spec, f"there is no toy task '{spec.name}'",
                    f"write toy:{near[0]}" if near else f"there are: {', '.join(toy_names())}")
    module = importlib.import_module(f"{PACKAGE}.{spec.name}")
    kind = next(x for x in vars(module).values() if isinstance(x, type) and x.__module__ == module.__name__
                and issubclass(x, Space))
    hints = typing.get_type_hints(kind, include_extras=True)
    allowed = {field.name: hints[field.name] for field in dataclasses.fields(kind)}
    return kind(**{name: _value(spec, name, text, allowed) for name, text in spec.parameters})


def _value(spec: TaskSpec, name: str, text: str, allowed: dict[str, Any]) -> int:
    if name not in allowed:
        raise wrong("RL205", spec, f"toy:{spec.name} has no parameter '{name}'",
                    f"it has: {', '.join(allowed) or 'none'}")
    value = literal(text)
    if type(value) is not int:
        raise wrong("RL203", spec, f"'{name}' of toy:{spec.name} must be a whole number, not '{text}'",
                    f"write {name}=2, for instance")
    for bound in getattr(allowed[name], "__metadata__", ()):
        if isinstance(bound, Bound) and (broken := bound.broken(value)):
            raise wrong("RL204", spec, f"'{name}' of toy:{spec.name} {broken}, not {value}", "change it")
    return value
