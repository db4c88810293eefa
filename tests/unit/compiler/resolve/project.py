"""Small projects on disk, and the findings in them as (code, file, line, underlined text)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rldsl.compiler.recipe import Recipe
from rldsl.compiler.resolve import resolve, resolve_all, sources
from rldsl.diagnostics import Diagnostic, RecipeError, Span

AXES = {
    "feedback": "verify(math)",
    "sampling": "group(8, max_tokens: 512)",
    "advantage": "group_norm",
    "ratio": "token(current / old)",
    "gate": "clip(0.2)",
    "reduction": "token_mean",
    "distribution": "on_policy",
    "system": "sync on colocated",
}


def recipe_text(name: str = "base", body: str = "", **axes: str) -> str:
    """A complete recipe; `axes` replace those of AXES, an empty text leaves the axis out."""
    lines = [f"  {axis} = {value}" for axis, value in {**AXES, **axes}.items() if value]
    return "\n".join([f"recipe {name} {{", *lines, *(f"  {line}" for line in body.splitlines()), "}", ""])


def write(folder: Path, **files: str) -> Path:
    """Writes `name.rl` for each keyword; the path of the first."""
    for name, text in files.items():
        (folder / f"{name}.rl").write_text(text, encoding="utf-8")
    return folder / f"{next(iter(files))}.rl"


def typed(folder: Path, text: str, name: str | None = None, **options) -> Recipe:
    """The recipe in a text."""
    return resolve(str(write(folder, main=text)), name, **options)


def errors(path: Path, name: str | None = None, **options) -> Sequence[Diagnostic]:
    """What is wrong with a file: of one recipe where there is a name or an option, else of all."""
    try:
        resolve(str(path), name, **options) if name or options else resolve_all(str(path))
    except RecipeError as error:
        return error.diagnostics
    return ()


def found(folder: Path, text: str, name: str | None = None, **options) -> list[tuple[str, str]]:
    """(code, underlined text) of everything wrong with a text."""
    problems = errors(write(folder, main=text), name, **options)
    return [(d.code, underlined(d, options.get("sets", ()))) for d in problems]


def underlined(d: Diagnostic, sets: Sequence[str] = ()) -> str:
    """The text under a finding's primary label."""
    span = next(label.span for label in d.labels if label.primary)
    return cut(sources([d], sets)[span.file], span)


def cut(text: str, span: Span) -> str:
    """The text of a region of one line, or the first line of a longer one."""
    line = text.split("\n")[span.line - 1]
    return line[span.column - 1:span.end_column - 1 if span.end_line == span.line else len(line)]
