"""The run's own record: one JSON object a line, appended, never rewritten.

Everything that looks at a run (the uploader, the report, resume) reads this file. Kinds that have readers
here:

- `start`: `name`, `params` (nested), `tags`, `artifacts` (paths relative to the run's folder), `recipe` and
  `formula` (text)
- `resume`: `step`, the last step that the restored checkpoint holds; later steps will come again
- `step`: `step`, `metrics` {name: number}
- `evaluate`: `step`, `metrics`
- `control`: `event` and the `actions` that the schedule took (`rldsl.axes.control`), `seconds` that what ended took;
  or, where a resume goes on with a pool, its `state`
- `system`: `step`, `metrics`: the machine, every few seconds
- `artifact`: `path`, relative to the run's folder
- `end`: `status` (FINISHED, FAILED or KILLED) and, for the latter two, `error`

Numbers that are not finite are written as Python's json writes them (NaN, Infinity).
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from rldsl.diagnostics import at

from .errors import RunError

FILE = "journal.jsonl"


@dataclass(frozen=True)
class Event:
    """One line. `seq` rises by one from 0, also across resumes; `time` is seconds since 1970."""

    seq: int
    time: float
    kind: str
    data: Mapping[str, Any]


class Journal:
    """The journal of the run in `folder` (made if missing), open for appending: by one process at a time, of which
    several threads may write.

    A last line without its end, left by a kill, is cut off. Raises RunError RL609 if another line is damaged.
    """

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / FILE
        self._file, self._writing = open(self.path, "ab"), threading.Lock()
        self._file.truncate(_whole(self.path))
        events = list(read_journal(folder))
        self._next = events[-1].seq + 1 if events else 0

    def append(self, kind: str, /, **data: Any) -> int:
        """Write one event and flush it to the operating system, so that it outlives this process. Returns its
        sequence number."""
        with self._writing:
            seq = self._next
            line = json.dumps({"seq": seq, "time": time.time(), "kind": kind, "data": data})
            self._file.write(line.encode() + b"\n")
            self._file.flush()
            self._next += 1
        return seq

    def sync(self) -> None:
        """Force what was written onto the disk, so that it outlives the machine; for the end of a step."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Force everything onto the disk and close."""
        self.sync()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


def read_journal(folder: Path, offset: int = 0) -> Iterator[Event]:
    """The events from byte `offset` of the journal in `folder`; a last line without its end is left out.

    Raises RunError RL609 where a whole line is no event.
    """
    return (event for event, _ in read_from(folder, offset))


def read_from(folder: Path, offset: int) -> Iterator[tuple[Event, int]]:
    """Events and the byte offset behind each: where to go on reading later."""
    path = folder / FILE
    if not path.exists():
        return
    with path.open("rb") as file:
        file.seek(offset)
        yield from _events(path, file, offset)


def _events(path: Path, file: BinaryIO, offset: int) -> Iterator[tuple[Event, int]]:
    for line in file:
        if not line.endswith(b"\n"):
            return
        offset += len(line)
        try:
            data = json.loads(line)
            event = Event(data["seq"], data["time"], data["kind"], data["data"])
        except (ValueError, KeyError, TypeError):
            raise RunError(at("RL609", f"'{path}' is damaged in the line that ends at byte {offset}", None,
                              why="later events rest on earlier ones, so a gap cannot be stepped over",
                              fix="restore the file, or start a new run")) from None
        yield event, offset


def _whole(path: Path) -> int:
    """The length of the file up to the end of its last whole line."""
    size = path.stat().st_size
    with path.open("rb") as file:
        end = size
        while end > 0:
            start = max(0, end - 65536)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            end = start
    return 0


def kept_events(events: Iterator[Event]) -> list[Event]:
    """The events of the run as it finally went: ends and steps that a resume took back are left out."""
    kept: list[Event] = []
    for event in events:
        if event.kind == "resume":
            kept = [e for e in kept if e.kind != "end" and e.data.get("step", -1) <= event.data["step"]]
        kept.append(event)
    return kept
