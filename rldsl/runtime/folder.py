"""The folder of a run: what its files are called, whether a process is at work in it, and how it stands."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .journal import FILE as JOURNAL

PLAN, PROJECT, LOCK, MEMBER = "plan.json", "project.txt", "training.lock", "member.json"
"""The plan; the project's root; held while a process trains; which sweep or ablation the run belongs to."""
FINISHED, FAILED, KILLED = "FINISHED", "FAILED", "KILLED"
RUNNING, NEW = "RUNNING", "NEW"
TAIL = 65536


def write_text(path: Path, text: str) -> None:
    """Writes a file all or nothing; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f"{path.name}.tmp")
    half.write_text(text, encoding="utf-8")
    half.replace(path)


def at_work(folder: Path) -> bool:
    """Whether some process is training in the folder now."""
    if not (folder / LOCK).exists():
        return False
    with open(folder / LOCK, "rb") as file:  # a project that can only be read is looked at too
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def status(folder: Path) -> tuple[str, str]:
    """How a run stands, and the error that ended it where one did. Without an `end` it was killed; with a journal whose
    end cannot be read it failed."""
    if at_work(folder):
        return RUNNING, ""
    try:
        last = last_event(folder)
    except ValueError:
        return FAILED, f"RL609 {folder / JOURNAL} is damaged at its end: restore it, or remove the folder"
    if last is None:
        return NEW, ""
    if last["kind"] != "end":
        return KILLED, ""
    return last["data"]["status"], last["data"].get("error", "")


def last_event(folder: Path) -> Mapping[str, Any] | None:
    """The journal's last whole event, read from the end of the file; None where there is none. ValueError where the
    last line is no event."""
    path = folder / JOURNAL
    if not path.exists():
        return None
    size = TAIL
    while True:
        with open(path, "rb") as file:
            length = file.seek(0, os.SEEK_END)
            file.seek(max(0, length - size))
            lines = file.read().rpartition(b"\n")[0].split(b"\n")
        if len(lines) > 1 or size >= length:
            return _event(lines[-1]) if lines[-1] else None
        size *= 16


def _event(line: bytes) -> Mapping[str, Any]:
    event = json.loads(line)
    if not isinstance(event, dict) or not isinstance(event.get("data"), dict) or "kind" not in event:
        raise ValueError("no event")
    if event["kind"] == "end" and "status" not in event["data"]:
        raise ValueError("an end without a status")
    return event
