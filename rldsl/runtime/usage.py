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

SECONDS = 5.0
"""Least time between two measurements: fast batches need none each."""
MEGABYTE = 1e6
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

    def measure(self, folder: Path) -> dict[str, float]:
        """{metric: number}; nothing where the last measurement is not long ago. `folder` says which disk."""
        now, spent = time.monotonic(), processor_seconds()
        if now - self.since < SECONDS:
            return {}
        found = {"system/cpu_cores": (spent - self.spent) / (now - self.since),
                 "system/memory_megabytes": resident() / MEGABYTE, "system/load": os.getloadavg()[0],
                 "system/disk_free_megabytes": shutil.disk_usage(folder).free / MEGABYTE, **self.devices()}
        self.since, self.spent = now, spent
        return found


def resident() -> float:
    """Bytes of memory that this process holds; where the system does not say, the most it ever held."""
    if STATM.exists():
        return float(STATM.read_text().split()[1]) * resource.getpagesize()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(most) * (1 if sys.platform == "darwin" else 1024)
