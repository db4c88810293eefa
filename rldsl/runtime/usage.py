"""What a run takes of its machine, for the tracker's system metrics: measured between batches, every few seconds."""

from __future__ import annotations

import os
import resource
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rldsl.diagnostics import Diagnostic

SECONDS = 5.0
"""Least time between two measurements: fast batches need none each."""
MEGABYTE = 1e6
MEMORY = "system/memory_megabytes"
HELD = "memory/"
"""How the metrics begin that say what other processes hold of their machines' memory."""
WINDOW, GROWN = 20, 1.5
"""Measurements over which memory is averaged, and how many times the first average the latest may be; both are ours."""
STATM = Path("/proc/self/statm")

Devices = Callable[[], Mapping[str, float]]


def processor_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    return sum(os.times()[:4])


@dataclass
class Usage:
    """The machine since the last measurement. `devices` says what the backend's devices are used for, by metric."""

    devices: Devices = dict
    since: float = field(default_factory=time.monotonic)
    spent: float = field(default_factory=processor_seconds)
    sizes: dict[str, list[float]] = field(default_factory=dict)

    def measure(self, folder: Path) -> dict[str, float]:
        """{metric: number}; nothing where the last measurement is not long ago. `folder` says which disk."""
        now, spent = time.monotonic(), processor_seconds()
        if now - self.since < SECONDS:
            return {}
        found = {"system/cpu_cores": (spent - self.spent) / (now - self.since),
                 MEMORY: resident() / MEGABYTE, "system/load": os.getloadavg()[0],
                 "system/disk_free_megabytes": shutil.disk_usage(folder).free / MEGABYTE, **self.devices()}
        self.since, self.spent = now, spent
        return found


    def grown(self, found: Mapping[str, float]) -> list[Diagnostic]:
        """Takes what was measured in; a warning RL615 for each kind of process whose memory has grown by half, once."""
        said = []
        for name in sorted(n for n in found if n == MEMORY or n.startswith(HELD)):
            sizes = self.sizes.setdefault(name, [])
            if len(sizes) == 2 * WINDOW:
                continue
            sizes.append(found[name])
            first, last = _mean(sizes[:WINDOW]), _mean(sizes[-WINDOW:])
            if len(sizes) == 2 * WINDOW and last <= GROWN * first:
                del sizes[WINDOW]
            elif len(sizes) == 2 * WINDOW:
                said.append(_growing(name, first, last))
        return said


def _mean(sizes: list[float]) -> float:
    return sum(sizes) / len(sizes)


def _growing(name: str, first: float, last: float) -> Diagnostic:
    who = "the training process" if name == MEMORY else f"a {name.removeprefix(HELD)} process"
    return Diagnostic("RL615", f"the memory of {who} has grown from {first:.0f} to {last:.0f} MB", severity="warning",
                      why="at this pace the system will end a process, and the run with it",
                      fix="look at what it keeps from batch to batch; `rldsl resume` begins with fresh processes")


def resident() -> float:
    """Bytes of memory that this process holds; where the system does not say, the most it ever held."""
    if STATM.exists():
        return float(STATM.read_text().split()[1]) * resource.getpagesize()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(most) * (1 if sys.platform == "darwin" else 1024)
