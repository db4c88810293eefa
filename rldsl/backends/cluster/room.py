"""Whether a machine has the memory for all processes of a run, before any of them is started."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rldsl.compiler.memory import amount
from rldsl.compiler.roles import JUDGE, LENT, REWARD, ROLLOUT, Role
from rldsl.diagnostics import Diagnostic
from rldsl.runtime.errors import RunError

MEMINFO, LIMIT, USED, STAT = (Path(p) for p in (
    "/proc/meminfo", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"))
"""Where Linux says what its memory is, and what of it a container may use and does."""
RANK = 250 * 10**6
LEAST = {ROLLOUT: 600 * 10**6, LENT: 600 * 10**6, JUDGE: 150 * 10**6, REWARD: 50 * 10**6}
"""Bytes that a process has to itself, of a rank and of others, with models of almost no size: rounded down from the
private pages of real ones (279 to 310 MB of a rank, 655 of an engine, 192 of a judge, 62 of a scorer)."""


def require_memory(wanted: Sequence[Role]) -> None:
    """RunError RL606 where all processes together need more memory than this machine has free.

    What is counted is the least that they take; where nothing says what is free, nothing is refused.
    """
    need, free = sum(role.processes * LEAST.get(role.name, RANK) for role in wanted), available()
    if free is None or need <= free:
        return
    listed = " + ".join(f"{role.processes} × {amount(LEAST.get(role.name, RANK))} ({role.name})" for role in wanted)
    raise RunError(Diagnostic(
        "RL606", f"the placement {listed} = {amount(need)} at least is more than this machine has: {amount(free)} of "
        "memory are free", why="the system would end one process after another while they load their models",
        fix="ask for fewer processes in the placement or the cluster block, or join a larger cluster with --address"))


def available() -> int | None:
    """Bytes that processes started now may take; None where the system does not say."""
    try:
        lines = dict(line.split(":", 1) for line in MEMINFO.read_text().splitlines())
        free = int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None
    try:
        cached = dict(line.split() for line in STAT.read_text().splitlines())["inactive_file"]
        return min(free, int(LIMIT.read_text()) - int(USED.read_text()) + int(cached))
    except (OSError, KeyError, ValueError):  # no container, or one without a limit
        return free
