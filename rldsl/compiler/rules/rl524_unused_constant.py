"""RL524: a constant that nothing in its file uses.

Constants do not leave their file: what nothing there mentions has no effect anywhere, and may be a misspelt use.
Source: the language reference, `let`: an import brings recipes, never constants.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.diagnostics import Diagnostic, at

from ..recipe import Recipe

CODE = "RL524"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each such constant of the recipe's own file."""
    for name, span in recipe.unused.items():
        yield at(CODE, f"nothing in this file uses `{name}`", span, "defined here, and not used",
                 why="Constants do not leave their file, so it has no effect.", fix="Leave it out, or use it.",
                 severity="warning")
