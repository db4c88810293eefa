"""Stands in for `rldsl resume FOLDER`: three steps in a journal, a lock while it works, and it does what it is told.

A file `behave.json` in the project says for a point: "fail", "die" (by SIGKILL in its first attempt), "slow"; or a
number: then it takes its time for twenty steps, in which the mean reward rises to that number.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import time
from pathlib import Path

from rldsl.runtime.folder import LOCK, MEMBER, PROJECT
from rldsl.runtime.journal import Journal, read_journal


def main(folder: Path) -> int:
    root = Path((folder / PROJECT).read_text())
    point = json.loads((folder / MEMBER).read_text())["point"]
    with open(root / "started.txt", "a") as log:
        log.write(f"{folder.name}\n")
    told = json.loads((root / "behave.json").read_text()).get(point, "") if (root / "behave.json").exists() else ""
    with open(folder / LOCK, "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return work(folder, told)


def work(folder: Path, told: str | float) -> int:
    steps, level = (3, 1.0) if isinstance(told, str) else (20, told)
    done = max((e.data["step"] for e in read_journal(folder) if e.kind == "step"), default=0)
    again = any(e.kind == "start" for e in read_journal(folder))
    seed = json.loads((folder / "plan.json").read_text())["seed"]
    with Journal(folder) as journal:
        journal.append("resume" if again else "start", step=done)
        for step in range(done + 1, steps + 1):
            journal.append("step", step=step, metrics={"tokens": 10.0, "step_seconds": 0.5,
                                                       "reward/mean": level * step / steps})
            if told == "die" and not again:
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(0.6 if told == "slow" else 0.02 if steps > 3 else 0.0)
        if told == "fail":
            journal.append("end", status="FAILED", error="RL601 not finite")
            return 3
        journal.append("evaluate", step=3, metrics={"held_out/score": 0.1 * seed})
        journal.append("end", status="FINISHED")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
