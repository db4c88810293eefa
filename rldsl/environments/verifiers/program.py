"""Run the program in a response against its unit tests, in a process of its own with limits on time and memory."""

from __future__ import annotations

import os
import resource
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .extract import extract as extracted

MEMORY, FILE, FILES = 2**30, 10 * 2**20, 64
"""Limits of a program: bytes of address space, bytes of any file that it writes, open files."""


def execute(text: str, answer: str, metadata: Mapping[str, Any], *, extract: str, tests: str, seconds: float,
            share: bool) -> float:
    """1 where the program passes all of its tests, else 0; with `share` the part of them that it passes.

    `tests` names the column that holds them: Python statements, or a list of such. Each is run after the program, in
    a fresh process with nothing of this one's environment; it passes where it comes to its end. Nothing keeps a
    program from the network or from other files of this user: run strangers' models inside a container.
    ValueError where the row has no tests.
    """
    program = extracted(text, extract)
    cases = _cases(metadata, tests)
    if program is None:
        return 0.0
    passed = 0
    for case in cases:
        passed += _passes(program, case, seconds)
        if passed == 0 and not share:
            return 0.0
    return passed / len(cases) if share else float(passed == len(cases))


def _cases(metadata: Mapping[str, Any], column: str) -> Sequence[str]:
    found = metadata.get(column)
    cases = [found] if isinstance(found, str) else found
    if not isinstance(cases, Sequence) or not cases or not all(isinstance(c, str) and c.strip() for c in cases):
        raise ValueError(f"column '{column}' holds no tests: it must be Python text, or a list of such")
    return cases


def _passes(program: str, case: str, seconds: float) -> bool:
    """Whether the test came to its end: a program that merely exits early never writes the word that follows it."""
    word = secrets.token_hex(16)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.py"
        file.write_text(f"{program}\n\n{case}\n\nprint({word!r})\n", encoding="utf-8")
        process = subprocess.Popen([sys.executable, "-I", str(file)], cwd=folder, env={"PATH": os.defpath},
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   start_new_session=True, preexec_fn=lambda: _limit(seconds))
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            output = b""
        finally:
            _end(process)
    return process.returncode == 0 and output.rstrip().endswith(word.encode())


def _limit(seconds: float) -> None:
    whole = int(seconds) + 1
    for what, most in ((resource.RLIMIT_CPU, whole), (resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_FSIZE, FILE),
                       (resource.RLIMIT_NOFILE, FILES), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(what, (most, most))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the program and whatever it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    process.stdout.close()
