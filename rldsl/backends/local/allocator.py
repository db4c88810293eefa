"""Keep freed host memory for the next tensor instead of giving it back to the system and faulting it in again."""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_KEPT = 2**30
_PAD = 2**26


def keep_freed_memory() -> None:
    """Raise glibc's thresholds for this process; elsewhere do nothing.

    By default every tensor above 128 KiB may be mapped and unmapped anew, and its pages faulted in again:
    measured on a [960, 576] float32 RMS norm, 1.6 ms instead of 0.11 ms. Up to 1 GiB stays with the process.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    for parameter, value in ((_MMAP_THRESHOLD, _KEPT), (_TRIM_THRESHOLD, _KEPT), (_TOP_PAD, _PAD)):
        mallopt(parameter, value)
