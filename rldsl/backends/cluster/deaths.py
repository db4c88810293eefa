"""What Ray says when a process is gone, in one sentence; and what is said of one that no longer moves."""

from __future__ import annotations

from rldsl.diagnostics import Diagnostic
from rldsl.runtime.errors import RunError

DETAIL = "Worker exit detail:"
"""What Ray writes before a cause and its guesses at causes."""


def reason(error: BaseException) -> str:
    """The first sentence in which Ray names a cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if DETAIL in line or "died" in line.lower() or "killed" in line.lower()]
    told = (telling or lines or [type(error).__name__])[-1]
    return told.rpartition(DETAIL)[2].strip().split(". ")[0].rstrip(".")


def dead(who: str, error: BaseException, costs: str, *, severity: str = "error") -> Diagnostic:
    """RL605: a process is gone."""
    return Diagnostic("RL605", f"{who} died: {reason(error)}", why=costs, severity=severity,
                      fix="look for what killed it (memory, a signal, the machine); `rldsl resume` goes on from the "
                          "newest checkpoint" if severity == "error" else "nothing to do, unless it happens again")


def stalled(who: str, seconds: float, what: str) -> RunError:
    """RL604: a wait has passed its deadline."""
    return RunError(Diagnostic("RL604", f"{who} has not moved for {seconds:.0f} s: {what}",
                               why="a process that is alive and does nothing would be waited for for ever",
                               fix="look at what it does on its machine; `rldsl resume` goes on from the newest "
                                   "checkpoint"))


def own_words(error: Exception) -> RunError | None:
    """What a process raised itself, out of Ray's wrapping; None where Ray speaks of the process."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, RunError):
        return cause
    if cause is None:
        return None
    return RunError(Diagnostic("RL605", f"a process ended: {type(cause).__name__}: {cause}".splitlines()[0],
                               why=str(error).strip().splitlines()[-1],
                               fix="the run resumes from its newest checkpoint once the cause is removed"))
