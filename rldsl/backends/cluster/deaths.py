"""What Ray says when a process is gone, in one sentence; and what is said of one that no longer moves."""

from __future__ import annotations

import re
from pathlib import Path

from rldsl.diagnostics import Diagnostic
from rldsl.runtime.errors import RunError

DETAIL = "Worker exit detail:"
"""What Ray writes before a cause and its guesses at causes."""
PLACE = re.compile(r"^\s*(pid|ip): (\S+)$", re.MULTILINE)
OURS = ":"
"""Beginning of the lines by which Ray marks a log (":job_id:", ":actor_name:")."""
LINES, TAIL = 3, 4096
"""How many last lines of a dead process's log are told, and how many bytes are looked through for them."""


def reason(error: BaseException) -> str:
    """The first sentence in which Ray names a cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if DETAIL in line or "died" in line.lower() or "killed" in line.lower()]
    told = (telling or lines or [type(error).__name__])[-1]
    return told.rpartition(DETAIL)[2].strip().split(". ")[0].rstrip(".")


def dead(who: str, error: BaseException, costs: str, *, severity: str = "error") -> Diagnostic:
    """RL605: a process is gone; which one on which node, what for, and the last lines that it wrote, where known."""
    place = dict(PLACE.findall(str(error)))
    where = f" (process {place['pid']} on {place.get('ip', 'this node')})" if "pid" in place else ""
    words = last_words(_logs(), place["pid"]) if "pid" in place else ""
    return Diagnostic("RL605", f"{who} died: {reason(error)}{where}", severity=severity,
                      why=f"{costs}; the last that it wrote: {words}" if words else costs,
                      fix="look for what killed it (memory, a signal, the machine); `rldsl resume` goes on from the "
                          "newest checkpoint" if severity == "error" else "nothing to do, unless it happens again")


def last_words(logs: Path | None, pid: str) -> str:
    """The last lines that a process wrote on standard error, but for warnings, where Ray keeps its log on this machine.
    """
    for file in logs.glob(f"worker-*-{pid}.err") if logs is not None else ():
        with file.open("rb") as f:
            f.seek(max(0, file.stat().st_size - TAIL))
            lines = [line.strip() for line in f.read().decode(errors="replace").splitlines()]
        told = [line for line in lines if line and not line.startswith(OURS) and "warning" not in line.lower()]
        return " | ".join(told[-LINES:])
    return ""


def _logs() -> Path | None:
    """Where Ray writes its processes' logs on this machine, if it runs here."""
    from ray._private import worker

    node = worker._global_node
    return None if node is None else Path(node.get_logs_dir_path())


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
