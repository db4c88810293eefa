"""Tasks from the user's own files, every row checked before anything runs."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rldsl.diagnostics import RecipeError, at

from .problem import Problem, Split, Task
from .rows import Reader, RowError
from .spec import TaskSpec, unreadable
from .table import Row, TableError, read_rows

SHOWN = 5


def load_files(spec: TaskSpec, split: Split, read: Reader, root: Path) -> Task:
    """The task in a file or folder; `root` is what a relative path starts from.

    A single file is one set: every split of it holds all rows, in the file's order. A folder has a file or
    folder per split. Raises RecipeError RL407 with file and row number for each of the first five bad rows.
    """
    try:
        rows = read_rows(root / spec.name, split)
    except TableError as error:
        raise unreadable(spec, error.message, error.fix) from None
    if not rows:
        raise unreadable(spec, f"'{spec.name}' has no rows", "a task needs at least one problem")
    problems = _problems(spec, rows, read)
    return Task(spec.text, split, len(problems), False, problems.__getitem__)


def _problems(spec: TaskSpec, rows: list[Row], read: Reader) -> list[Problem]:
    problems, wrong = [], []
    for row in rows:
        try:
            prompt, answer = read(row.values)
        except RowError as error:
            wrong.append((row, str(error)))
            continue
        problems.append(Problem(f"{row.file}:{row.number}", prompt, answer, _plain(row.values)))
    if wrong:
        raise _bad_rows(spec, wrong, len(rows))
    return problems


def _bad_rows(spec: TaskSpec, wrong: list[tuple[Row, str]], total: int) -> RecipeError:
    fix = "name the columns in the data block (prompt: …, answer: …, template: …) or correct the rows"
    found = [at("RL407", f"'{row.file}', row {row.number}: {reason}", spec.span, "this task", fix=fix)
             for row, reason in wrong[:SHOWN]]
    if len(wrong) > SHOWN:
        found.append(at("RL407", f"{len(wrong)} of {total} rows of '{spec.name}' cannot be used; the first "
                        f"{SHOWN} are shown", spec.span, "this task", fix=fix))
    return RecipeError(found)


def _plain(value: Any) -> Any:
    """The value in JSON's types; dates and decimals become text, bytes are decoded."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (datetime.date, datetime.time, datetime.timedelta, decimal.Decimal)):
        return str(value)
    return value
