"""RL206: a scorer of the user's own from a package that the project does not trust.

A recipe may come from a stranger; what its project file trusts is the project's own decision.
Source: the language reference, user rewards.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rldsl.axes.base import Source
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import said
from ..recipe import Recipe
from ..resolve.load import PROJECT_FILE, project_root

CODE = "RL206"
KEY = "trust"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each such scorer, or for a project file that cannot be read."""
    for node in recipe.nodes():
        package = node.choice.trusted() if isinstance(node.choice, Source) else None
        if package is None:
            continue
        file = project_root(Path(recipe.file)) / PROJECT_FILE
        trusted, problem = _trusted(file)
        if problem or package not in trusted:
            yield clash(
                CODE, recipe, problem or f"{said(node)} runs code of the package `{package}`, which {PROJECT_FILE} "
                "does not trust.",
                (node.span, "code of the user's own"),
                why="A recipe may come from a stranger: what may run on this machine is for the project to say.",
                fix=f'Write {KEY} = ["{package}"] in {PROJECT_FILE} beside the recipe, if the package is yours.')


def _trusted(file: Path) -> tuple[list[Any], str]:
    """The trusted packages, and what is wrong with the file."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return [], f"{file.name} cannot be read: {error}."
    found = data.get(KEY, [])
    if not isinstance(found, list) or not all(isinstance(x, str) for x in found):
        return [], f"{file.name}: `{KEY}` must be a list of package names."
    return found, ""
