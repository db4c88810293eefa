"""Checkpoints that are whole or not there: written aside, forced to disk, described by hashes, renamed last."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rldsl.diagnostics import Diagnostic

from .errors import RunError

MANIFEST = "manifest.json"
KEPT = 2
"""Checkpoints that stay; older ones go once a newer one is complete."""
FORMAT = 1


@dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint, and the newer ones that were passed over with the reason why."""

    folder: Path
    step: int
    state: Mapping[str, Any]
    skipped: tuple[tuple[str, str], ...] = ()


def save(store: Path, step: int, state: Mapping[str, Any], write: Callable[[Path], None], *,
         pinned: int | None = None) -> Path:
    """Writes a checkpoint of `step` batches: what `write` puts into a folder, and `state` (JSON).

    The step `pinned` is never removed. RunError RL612 where the disk does not take it.
    """
    target, half = store / _name(step), store / f".half-{_name(step)}"
    try:
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir(parents=True)
        write(half)
        files = {f.name: _described(f) for f in sorted(half.iterdir())}
        body = {"format": FORMAT, "step": step, "files": files, "state": state}
        (half / MANIFEST).write_text(json.dumps({**body, "sha256": _digest(body)}, sort_keys=True), encoding="utf-8")
        for f in half.iterdir():
            _to_disk(f)
        _to_disk(half)
        shutil.rmtree(target, ignore_errors=True)
        half.rename(target)
        _to_disk(store)
    except (OSError, RuntimeError) as error:  # torch reports a full disk as RuntimeError
        shutil.rmtree(half, ignore_errors=True)
        reason = getattr(error, "strerror", None) or "the disk took a part of it only"
        raise RunError(Diagnostic(
            "RL612", f"the checkpoint {target} cannot be written: {reason}",
            why="a run that cannot be resumed must not go on as if it could",
            fix="free disk space or choose another folder, then `rldsl resume` this run")) from error
    for old in _steps(store)[:-KEPT]:
        if old != pinned:
            shutil.rmtree(store / _name(old), ignore_errors=True)
    return target


def newest(store: Path) -> Checkpoint | None:
    """The newest complete checkpoint; None where none was ever written, RunError RL609 where none is complete."""
    skipped: list[tuple[str, str]] = []
    if not _steps(store):
        return None
    for step in reversed(_steps(store)):
        try:
            return Checkpoint(store / _name(step), step, read(store, step), tuple(skipped))
        except ValueError as reason:
            skipped.append((_name(step), str(reason)))
    told = "; ".join(f"{name}: {reason}" for name, reason in skipped)
    raise RunError(Diagnostic("RL609", f"there is no complete checkpoint in {store}", why=told,
                              fix="start the run again"))


@contextmanager
def understood() -> Iterator[None]:
    """RunError RL609 where a state that is whole does not have the parts that this version of the program reads."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        part = f": {error.args[0]} is missing" if isinstance(error, KeyError) else ""
        raise RunError(Diagnostic(
            "RL609", f"the checkpoint is whole, and was written by another version of rldsl{part}",
            why="what is not understood cannot be gone on with",
            fix="resume with the version that began the run, or start a new run")) from error


def exists(store: Path) -> bool:
    """Whether a checkpoint was ever written, complete or damaged."""
    return bool(_steps(store))


def read(store: Path, step: int) -> Mapping[str, Any]:
    """The state of one checkpoint. ValueError says what is wrong with it."""
    folder = store / _name(step)
    try:
        body = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        digest = body.pop("sha256")
        files, state = body["files"], body["state"]
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise ValueError(f"its {MANIFEST} cannot be read ({type(error).__name__})") from error
    if body["format"] != FORMAT or digest != _digest(body):
        raise ValueError(f"its {MANIFEST} does not agree with itself")
    for name, described in files.items():
        if not (folder / name).is_file():
            raise ValueError(f"{name} is missing")
        if _described(folder / name) != described:
            raise ValueError(f"{name} is not what was written")
    return state


def _steps(store: Path) -> list[int]:
    return sorted(int(f.name.removeprefix("batch-")) for f in store.glob("batch-*") if f.name[6:].isdigit())


def _name(step: int) -> str:
    return f"batch-{step:06d}"


def _described(file: Path) -> dict[str, Any]:
    with open(file, "rb") as f:
        return {"bytes": file.stat().st_size, "sha256": hashlib.file_digest(f, "sha256").hexdigest()}


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
