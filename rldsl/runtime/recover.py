"""Training on through the death of what a backend can start again."""

from __future__ import annotations

from . import event_loop, executor
from .errors import RunError
from .run import Run


def execute_through_deaths(run: Run) -> None:
    """Trains to the last batch, in turn or as responses come, again from where `run.recover` has taken the run back to.
    RunError where it has not."""
    while True:
        try:
            if run.stream is None:
                executor.execute(run)
            else:
                event_loop.execute(run, run.stream)
            return
        except RunError as error:
            if run.recover is None or not run.recover(error):
                raise
