"""The process that scores: reads jobs, writes one line per score. It may hang or die; the pool notices.

Standard input carries pickled (index, scorer, text, answer, metadata) batches, each after its length in eight
bytes. Replies are JSON lines [index, value, error, seconds], one as soon as its job is done, so that a job
that never ends is known to be the first without a reply. Replies are JSON because nothing that scored a
stranger's text is unpickled. Imports stay light: a worker starts in some ten milliseconds.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import pickle
import signal
import struct
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

GRACE = 5.0
LONGEST_ERROR = 20_000
HEADER = struct.Struct("<Q")

Scorer = Callable[[str, str, Mapping[str, Any]], Any]


def main() -> None:
    """Serve until standard input ends."""
    source, replies = _take_pipes()
    setup = _read(source)
    if setup is None:
        return
    _limit_memory(setup["memory_bytes"])
    try:
        scorers = [(resolve(target), options) for target, options in setup["scorers"]]
    except Exception:  # whatever a user's module raises must reach the pool as text
        _reply(replies, {"failed": traceback.format_exc()[-LONGEST_ERROR:]})
        return
    _reply(replies, {"ready": os.getpid()})
    while (jobs := _read(source)) is not None:
        for index, scorer, text, answer, metadata in jobs:
            _arm(setup["timeout"] + GRACE)
            function, options = scorers[scorer]
            _reply(replies, [index, *score(function, options, text, answer, metadata)])
        _arm(0.0)


def resolve(target: str) -> Scorer:
    """The function that `package.module:name` names. Raises ImportError, AttributeError or TypeError."""
    module, _, name = target.partition(":")
    function = getattr(importlib.import_module(module), name)
    if not callable(function):
        raise TypeError(f"'{target}' is not a function")
    return function


def score(function: Scorer, options: Mapping[str, Any], text: str, answer: str,
          metadata: Mapping[str, Any]) -> tuple[float | None, str | None, float]:
    """(value, error, seconds): the error is a traceback or a sentence, and set exactly where there is no
    value."""
    start = time.perf_counter()
    try:
        value = function(text, answer, metadata, **options)
        number, error = _number(value)
    except Exception:  # a user's function may raise anything; it costs this row
        number, error = None, traceback.format_exc()[-LONGEST_ERROR:]
    return number, error, time.perf_counter() - start


def _number(value: Any) -> tuple[float | None, str | None]:
    if value is None:
        return None, "the scorer returned None: no score"
    if isinstance(value, (str, bytes)):
        return None, f"the scorer returned {value!r:.200}, which is not a number"
    number = float(value)
    if not math.isfinite(number):
        return None, f"the scorer returned {number}, which is not a finite number"
    return number, None


def _take_pipes() -> tuple[BinaryIO, int]:
    """The pool's two pipes, out of reach of a scorer that reads or prints: 0 becomes empty, 1 becomes 2."""
    source, replies = os.fdopen(os.dup(0), "rb"), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return source, replies


def _read(source: BinaryIO) -> Any:
    header = source.read(HEADER.size)
    return pickle.loads(source.read(HEADER.unpack(header)[0])) if len(header) == HEADER.size else None


def _reply(replies: int, message: Any) -> None:
    data = memoryview(json.dumps(message).encode() + b"\n")
    while data:
        data = data[os.write(replies, data):]


def _limit_memory(memory_bytes: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))


def _arm(seconds: float) -> None:
    """Die by SIGALRM after `seconds`, so that a hanging worker does not outlive a killed pool. 0 disarms."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


if __name__ == "__main__":
    main()
