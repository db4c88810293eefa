"""Runs the jobs of an expansion as local processes, so many at a time; nothing that is finished runs again.

Everything it knows is in the folders of the runs, so it may be killed at any moment and started again.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rldsl.diagnostics import Diagnostic
from rldsl.runtime.errors import RunError
from rldsl.runtime.folder import FAILED, FINISHED, KILLED, PLAN, PROJECT, RUNNING, at_work, status

from .expansion import Expansion, Job
from .member import Member, write_member
from .registry import finished, folder_of

COMMAND = (sys.executable, "-P", "-m", "rldsl", "resume")
RESULT, OUTPUT, LOCK = "result.json", "output.log", "driver.lock"
ATTEMPTS = 3
"""How often a job whose process is killed is taken up in one session of the driver."""
POLL = 0.2
PATIENCE = 60.0
"""Seconds that interrupted runs have to write down how they ended."""
REUSED, PRUNED = "REUSED", "PRUNED"


@dataclass(frozen=True)
class Outcome:
    """How a job stands after the driver has done what it could. REUSED is a run that was finished before, PRUNED one
    that was ended, or not begun, because its point fell behind."""

    job: Job
    folder: Path
    status: str
    error: str = ""
    seconds: float = 0.0


@dataclass
class Task:
    """A job on its way. `process` is None while another process, left by a driver that died, is at work on it."""

    job: Job
    folder: Path
    attempts: int = 0
    process: subprocess.Popen[bytes] | None = None
    since: float = 0.0


Tell = Callable[[Outcome, int, int], None]


@contextlib.contextmanager
def alone(folder: Path, lock: str = LOCK) -> Iterator[None]:
    """Keeps a second driver away from the same folder. RunError RL609 where one is at work."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / lock, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(Diagnostic("RL609", f"another process is at work on {folder}",
                                      why="each run is made by one of them",
                                      fix="wait for it, or end it first")) from None
        yield


@dataclass
class Driver:
    """`home` is the folder of the expansion itself, under whose tracked run the children are nested. `tell` hears of
    each outcome with how many there are so far and in all; `behind` is asked, now and then, which points are to end."""

    expansion: Expansion
    root: Path
    home: Path
    jobs: int
    tell: Tell
    behind: Callable[[Driver], Collection[str]] = lambda _: ()
    waiting: list[Task] = field(default_factory=list)
    ended: set[str] = field(default_factory=set)
    folders: dict[str, Path] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    running: list[Task] = field(default_factory=list)

    def run(self, again: bool) -> list[Outcome]:
        """Brings every job to an end. KeyboardInterrupt ends the running ones first, resumable."""
        wanted = self.expansion.jobs()
        self.waiting = self._tasks(wanted, {} if again else finished(self.root), again)
        try:
            while self.waiting or self.running:
                while self.waiting and len(self.running) < self.jobs:
                    self._start(self.waiting.pop(0))
                time.sleep(POLL)
                for task in list(self.running):
                    if self._over(task):
                        self.running.remove(task)
                        self.waiting += self._settle(task)
                self._end(set(self.behind(self)) - self.ended)
        except KeyboardInterrupt:
            self._interrupt()
            raise
        return self.outcomes

    def _tasks(self, wanted: Sequence[Job], known: Mapping[str, Path], again: bool) -> list[Task]:
        tasks = []
        for job in wanted:
            if job.experiment in known:
                self.folders[job.experiment] = known[job.experiment]
                self._note(Outcome(job, known[job.experiment], REUSED))
            else:
                name = Path(job.plan).stem.rpartition("-")[0]
                tasks.append(Task(job, folder_of(self.root, name, job.experiment, again)))
                self.folders[job.experiment] = tasks[-1].folder
        return tasks

    def _start(self, task: Task) -> None:
        """Starts the job's process, unless one is at work on it already. A folder that takes nothing fails the job."""
        task.since = task.since or time.monotonic()
        if at_work(task.folder):
            task.process = None
            self.running.append(task)
            return
        task.attempts += 1
        try:
            _prepare(task, self.expansion, self.root, self.home)
            task.process = self._process(task)
        except OSError as error:
            self._note(self._outcome(task, FAILED, f"RL612 cannot write to {task.folder}: {error.strerror or error}"))
            return
        self.running.append(task)

    def _process(self, task: Task) -> subprocess.Popen[bytes]:
        with open(task.folder / RESULT, "wb") as out, open(task.folder / OUTPUT, "ab") as err:
            return subprocess.Popen([*COMMAND, str(task.folder), "--format", "json"], stdin=subprocess.DEVNULL,
                                    stdout=out, stderr=err, env=environment(self.jobs), cwd=self.root,
                                    start_new_session=True)

    def _over(self, task: Task) -> bool:
        return not at_work(task.folder) if task.process is None else task.process.poll() is not None

    def _settle(self, task: Task) -> list[Task]:
        """Notes how a job ended; gives it back where it is to be taken up again."""
        stands, error = status(task.folder)
        if stands == FINISHED:
            self._note(self._outcome(task, FINISHED, ""))
            return []
        if task.job.points[0] in self.ended and stands != RUNNING:
            self._note(self._outcome(task, PRUNED, ""))
            return []
        left = task.process is None or stands == RUNNING
        killed = task.process is not None and task.process.returncode < 0
        if left or (killed and task.attempts < ATTEMPTS):
            task.process = None
            return [task]
        error = error or ("its process was killed" if killed else _said(task.folder))
        self._note(self._outcome(task, KILLED if killed else FAILED, error))
        return []

    def _end(self, points: Collection[str]) -> None:
        """Ends the runs of points that fell behind: those at work as Ctrl-C would, the others before they begin."""
        self.ended |= set(points)
        for task in self.running:
            if task.job.points[0] in points and task.process is not None:
                with contextlib.suppress(ProcessLookupError):
                    task.process.send_signal(signal.SIGTERM)
        for task in [t for t in self.waiting if t.job.points[0] in points]:
            self.waiting.remove(task)
            self._note(Outcome(task.job, task.folder, PRUNED))

    def _outcome(self, task: Task, stands: str, error: str) -> Outcome:
        return Outcome(task.job, task.folder, stands, error, time.monotonic() - task.since)

    def _note(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self.tell(outcome, len(self.outcomes), len(self.expansion.jobs()))

    def _interrupt(self) -> None:
        """Ends the running processes as Ctrl-C would, and waits until they have said so."""
        own = [t.process for t in self.running if t.process is not None]
        for process in own:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        for process in own:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()


def environment(jobs: int) -> dict[str, str]:
    """That of a child: the same modules, and its share of the processors."""
    share = max(1, (os.cpu_count() or 1) // jobs)
    return {"OMP_NUM_THREADS": str(share), **os.environ,
            "PYTHONPATH": os.pathsep.join(entry or os.getcwd() for entry in sys.path)}


def _prepare(task: Task, expansion: Expansion, root: Path, home: Path) -> None:
    """A folder that `rldsl resume` can take up; written once, the plan last."""
    if (task.folder / PLAN).exists():
        return
    task.folder.mkdir(parents=True, exist_ok=True)
    point = expansion.point(task.job.points[0])
    write_member(task.folder, Member(expansion.name, str(home), point.id, point.values))
    (task.folder / PROJECT).write_text(str(root.resolve()), encoding="utf-8")
    half = task.folder / f"{PLAN}.tmp"
    shutil.copyfile(root / task.job.plan, half)
    half.replace(task.folder / PLAN)


def _said(folder: Path) -> str:
    """Why a child that wrote down no end gave up: its diagnostic, or else the last that it printed."""
    try:
        told = json.loads((folder / RESULT).read_text(encoding="utf-8"))["diagnostics"]
        return next(f"{d['code']} {d['message']}" for d in told if d["severity"] == "error")
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        return _last_line(folder / OUTPUT)


def _last_line(path: Path) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines() if path.exists() else []
    return lines[-1] if lines else "it said nothing"
