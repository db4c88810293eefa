"""The uploader process: journal in, MLflow out. Run as `python -m … FOLDER DEADLINE`.

It works until standard input ends (training finished, or died), then has DEADLINE seconds for the rest.
Everything it does can be repeated: the run is found again by its tag, metrics carry the journal's time
stamps, and a step that is already uploaded is never sent again, so neither its own death nor a resume of
training doubles anything.
"""

from __future__ import annotations

import fcntl
import os
import select
import sys
import time
import traceback
from collections import deque
from dataclasses import replace
from pathlib import Path

from .journal import read_journal
from .tracking import read_settings, read_state, write_state

POLL = 0.5
LONGEST_PAUSE = 10.0
LOCK_FILE = "uploader.lock"
# One attempt and a short time limit: this process retries by itself, and must notice its deadline.
ENVIRONMENT = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0", "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
               "MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_ALLOW_FILE_STORE": "true"}


def main() -> int:
    """Exit status 0 if everything is uploaded, 3 if the deadline came first."""
    folder, allowed = Path(sys.argv[1]), float(sys.argv[2])
    os.environ.update(ENVIRONMENT)
    with (folder / LOCK_FILE).open("wb") as lock:
        return _work(folder, allowed, lock.fileno())


def _work(folder: Path, allowed: float, lock: int) -> int:
    uploader, pause, deadline, locked = _Uploader(folder), POLL, float("inf"), False
    while True:
        last = _training_over(0.0)
        if last:
            deadline = min(deadline, time.monotonic() + allowed)
        locked = locked or _lock(lock)
        worked = locked and uploader.attempt(last)
        if last and (worked or time.monotonic() >= deadline):
            return 0 if worked else 3
        pause = min(LONGEST_PAUSE, 2 * pause) if locked and not worked else POLL
        if last:
            time.sleep(min(POLL, max(0.0, deadline - time.monotonic())))
        else:
            _training_over(pause)


def _training_over(seconds: float) -> bool:
    """Wait up to `seconds` for the end of standard input, which nothing is ever written to."""
    return bool(select.select([sys.stdin.fileno()], [], [], seconds)[0])


def _lock(lock: int) -> bool:
    """Whether this is the only uploader of the run; an older one may still be at work after a resume."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class _Uploader:
    """Keeps its client while all goes well and makes a new one after a failure."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.upload = None

    def attempt(self, last: bool) -> bool:
        """Upload all there is; True if nothing is left. `last`: training is over, the run gets its final
        status."""
        try:
            if self.upload is None:
                from .tracking_mlflow import Upload

                self.upload = Upload(self.folder, read_settings(self.folder))
            self.upload.pump()
            if last:
                self.upload.close(*_ending(self.folder))
            return self.upload.complete()
        except Exception as error:  # whatever a tracker does, the journal stays and is tried again
            traceback.print_exc()
            self.upload = None
            message = f"{type(error).__name__}: {error}"[:500]
            write_state(self.folder, replace(read_state(self.folder), error=message))
            return False


def _ending(folder: Path) -> tuple[str, float]:
    """Status and time from the journal's last event; a run that never said how it ended was killed."""
    last = deque(read_journal(folder), maxlen=1)
    if last and last[0].kind == "end":
        return last[0].data["status"], last[0].time
    return "KILLED", time.time()


if __name__ == "__main__":
    sys.exit(main())
