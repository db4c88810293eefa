"""Ranks that nobody trains: where one dies, their model is read again from its folder and they are asked again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rldsl.diagnostics import Diagnostic
from rldsl.runtime.errors import RunError

from .ranks import Ranks, start

DEATHS = 3
"""Times that the ranks of one model are started again; the next death ends the run."""


class FrozenRanks:
    """The ranks of one frozen model, as `Ranks`. What they answer depends on the question alone, so a death costs the
    run nothing but time; `tell` hears of it."""

    def __init__(self, ranks: Ranks, tell: Callable[[Diagnostic], None]):
        self.ranks, self._tell, self._deaths = ranks, tell, 0

    @property
    def actors(self) -> list[Any]:
        """See `Ranks.actors`."""
        return self.ranks.actors

    def share(self, value: Any) -> Any:
        """See `Ranks.share`."""
        return self.ranks.share(value)

    def begin(self, method: str, *arguments: Any) -> Callable[[], list[Any]]:
        """See `Ranks.begin`. One question at a time."""
        asked = self.ranks.begin(method, *arguments)

        def answers() -> list[Any]:
            wait = asked
            while True:
                try:
                    return wait()
                except RunError as error:
                    self._note(error)
                wait = again

        def again() -> list[Any]:
            start([self.ranks])
            return self.ranks.call(method, *arguments)

        return answers

    def end(self) -> None:
        """See `Ranks.end`."""
        self.ranks.end()

    def _note(self, error: RunError) -> None:
        """Counts and tells that the ranks have ended; the error where they live, or have died too often."""
        if self.ranks.actors or self._deaths == DEATHS:
            raise error
        self._deaths += 1
        self._tell(replace(error.diagnostic, severity="warning", fix="nothing to do, unless it happens again",
                           why=f"{error.diagnostic.why}; they start again from their folder, and are asked again"))
