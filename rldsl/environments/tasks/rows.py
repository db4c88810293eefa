"""From a row of named columns to a problem: which columns, which template, and what may be in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


class RowError(Exception):
    """What is wrong with one row, in words that fit after "row 12: "."""


@dataclass(frozen=True)
class Columns:
    """Which columns hold what. `answer=None`: the task has no reference answers (a scorer does without).

    A name with dots reaches into nested columns: `reward_model.ground_truth`. With a `template` (Jinja, run
    in a sandbox, all columns by name) the prompt is what it renders and `prompt` is not read.
    """

    prompt: str = "prompt"
    answer: str | None = "answer"
    template: str | None = None


Reader = Callable[[Mapping[str, Any]], tuple[str, str]]


def reader(columns: Columns) -> Reader:
    """A function row → (prompt, answer). Raises ValueError for a template that Jinja cannot compile; the
    function raises RowError for a row that has no usable prompt or answer."""
    render = _renderer(columns.template) if columns.template is not None else None

    def read(row: Mapping[str, Any]) -> tuple[str, str]:
        prompt = render(row) if render else _prompt(row, columns.prompt)
        if not prompt.strip():
            raise RowError("the prompt is empty")
        return prompt, "" if columns.answer is None else _answer(row, columns.answer)

    return read


def _prompt(row: Mapping[str, Any], column: str) -> str:
    value = lookup(row, column)
    if isinstance(value, str):
        return value
    raise RowError(f"column '{column}' holds {_kind(value)}, a prompt must be text")


def _answer(row: Mapping[str, Any], column: str) -> str:
    value = lookup(row, column)
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    if not isinstance(value, str):
        raise RowError(f"column '{column}' holds {_kind(value)}, an answer must be text or a number")
    if not value.strip():
        raise RowError(f"column '{column}', the answer, is empty")
    return value


def lookup(row: Mapping[str, Any], column: str) -> Any:
    """The value in a column; a name with dots reaches into nested ones. Raises RowError naming what there
    is."""
    value: Any = row
    if column in row:
        return row[column]
    for part in column.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise RowError(f"there is no column '{column}'; there are: {', '.join(map(str, row)) or 'none'}")
        value = value[part]
    return value


def _kind(value: Any) -> str:
    names = {type(None): "nothing", str: "text", bool: "true or false", int: "a number", float: "a number",
             list: "a list", dict: "nested columns"}
    return names.get(type(value), f"a {type(value).__name__}")


def _renderer(template: str) -> Callable[[Mapping[str, Any]], str]:
    from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
    try:
        compiled = environment.from_string(template)
    except TemplateSyntaxError as error:
        raise ValueError(f"line {error.lineno} of the template: {error.message}") from None

    def render(row: Mapping[str, Any]) -> str:
        try:
            return compiled.render(row)
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise RowError(f"the template cannot be filled: {error}; "
                           f"there are the columns: {', '.join(map(str, row))}") from None

    return render
