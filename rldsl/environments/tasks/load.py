"""`load_task`: the one door to every kind of task."""

from __future__ import annotations

from pathlib import Path

from rldsl.diagnostics import RecipeError, Span, at

from .problem import Split, Task
from .rows import Columns, Reader, reader
from .spec import parse_spec

PLAIN = Columns()


def load_task(spec: str, split: Split, *, seed: int, columns: Columns = PLAIN, root: Path = Path("."),
              span: Span | None = None) -> Task:
    """The problems of a task: `toy:NAME`, `gym:NAME`, or the path of a file or folder (relative to `root`).

    Problem i is a pure function of (spec, split, seed, i). The splits of toy and gym tasks never share a
    problem, whatever the seeds; their `held_out` and `warm_start` do not depend on the seed. Files keep their
    order. `span` is where the recipe names the task; diagnostics point there. Raises RecipeError: RL407 for a
    source that is missing or unreadable (file and row named), RL203 for a template that is not Jinja, RL2xx for
    a toy that there is not.
    """
    parsed, read = parse_spec(spec, span), reader_of(columns, span)
    if parsed.kind == "toy":
        from .from_toys import load_toy

        return load_toy(parsed, split, read, seed)
    if parsed.kind == "gym":
        from .from_gym import load_gym

        return load_gym(parsed, split, read, seed)
    from .from_files import load_files

    return load_files(parsed, split, read, root)


def check_name(spec: str, split: Split, columns: Columns, span: Span) -> None:
    """RecipeError for a name or parameters that are wrong without anything being opened."""
    if parse_spec(spec, span).kind == "toy":
        load_task(spec, split, seed=0, columns=columns, span=span)


def reader_of(columns: Columns, span: Span | None) -> Reader:
    """How rows are read. RecipeError RL203, at `span`, for a template that is not Jinja."""
    try:
        return reader(columns)
    except ValueError as error:
        raise RecipeError([at("RL203", f"the template cannot be read: {error}", span,
                              fix='write Jinja: template: "Question: {{ prompt }}"')]) from None
