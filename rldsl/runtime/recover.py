"""Training on through the death of what a backend can start again."""

from __future__ import annotations

from .errors import RunError
from .executor import execute
from .run import Run


def execute_through_deaths(run: Run) -> None:
    """`execute`, again from where `run.recover` has taken it back to; RunError where it has not."""
    while True:
        try:
            execute(run)
            return
        except RunError as error:
            if run.recover is None or not run.recover(error):
                raise
