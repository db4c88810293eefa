"""Freed memory stays with the process."""

from __future__ import annotations

import subprocess
import sys

from rldsl.backends.local import allocator

FAULTS = """
import resource, sys, torch
from rldsl.backends.local.allocator import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
def touch():
    return [torch.ones(2**20) for _ in range(8)]
for _ in range(5):
    touch()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    touch()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
PAGES = 20 * 8 * 2**22 // 4096
"""What the measured rounds touch."""


def faults(how):
    done = subprocess.run([sys.executable, "-c", FAULTS, how], check=True, capture_output=True, text=True)
    return int(done.stdout)


def test_tensors_are_not_faulted_in_again():
    supported = sys.platform.startswith("linux") and hasattr(allocator.ctypes.CDLL(None), "mallopt")
    assert faults("keep") < 0.05 * PAGES or not supported  # by default some or all are, as the heap happens to lie


def test_other_systems_are_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(allocator.ctypes, "CDLL", None)
    allocator.keep_freed_memory()
