"""Real runs: `rldsl` in a process of its own, and the processes of its cluster found by what they inherit from it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

from rldsl.runtime.journal import kept_events, read_journal

ROOT = Path(__file__).parents[3]
MARK = "RLDSL_TEST_RUN"
RECIPE = """recipe learns {{
  feedback     = verify(exact)
  sampling     = group(8, max_tokens: 6)
  advantage    = group_norm
  ratio        = token(current / old)
  gate         = clip(0.2, high: 0.28)
  reduction    = token_mean
  distribution = {distribution}
  system       = {system}

  model    {{ policy: "toy:llama-2x128", warm_start: {warm}, dtype: float32 }}
  data     {{ train: "toy:reverse", prompts: 32 }}
  optim    {{ adamw(lr: 2e-4), updates_per_batch: 2 }}
  budget   {{ steps: {steps} }}
  evaluate {{ "toy:reverse", samples: 4, every: {steps}, problems: 100 }}
  cluster  {{ {cluster} }}
  track    {{ mlflow: none, checkpoint_every: 2 }}
}}
"""


class Process:
    """One `rldsl` command."""

    def __init__(self, folder: Path, *args: str):
        self.mark = uuid.uuid4().hex
        env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", MARK: self.mark}
        self.log = open(folder / f"{self.mark}.log", "w+")
        self.inner = subprocess.Popen([sys.executable, "-m", "rldsl", *args], cwd=folder, env=env, stdout=self.log,
                                      stderr=subprocess.STDOUT)

    def wait(self, seconds: float = 400.0) -> int:
        try:
            return self.inner.wait(seconds)
        finally:
            self.inner.kill()

    def said(self) -> str:
        self.log.seek(0)
        return self.log.read()

    def processes(self, name: str = "") -> list[int]:
        """Numbers of the live processes that descend from it, whose title begins with `name`."""
        found = []
        for place in Path("/proc").iterdir():
            if place.name.isdigit() and int(place.name) != self.inner.pid:
                try:
                    title = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    mine = f"{MARK}={self.mark}".encode() in (place / "environ").read_bytes().split(b"\0")
                    ended = (place / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
                except OSError:
                    continue
                if mine and not ended and title.startswith(name):
                    found.append(int(place.name))
        return found

    def gone(self, name: str = "", seconds: float = 150.0) -> bool:
        """Whether its processes end in time; Ray's own agents may need a minute to see that theirs is dead."""
        until = time.monotonic() + seconds
        while (left := self.processes(name)) and time.monotonic() < until:
            time.sleep(0.2)
        return not left

    def until_step(self, run: Path, step: int, seconds: float = 300.0) -> None:
        """Waits until the journal has a step."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            assert self.inner.poll() is None, self.said()
            if (run / "journal.jsonl").exists() and steps(run)[-1:] >= [step]:
                return
            time.sleep(0.05)
        raise AssertionError(f"no step {step}: {self.said()}")


def steps(run: Path) -> list[int]:
    return [e.data["step"] for e in read_journal(run) if e.kind == "step"]


def recipe(folder: Path, *, steps: int, warm: int = 85, cluster: str = "nodes: 1",
           distribution: str = "tis(2.0)", system: str = "sync on disaggregated(rollout: 1, train: 1)") -> str:
    file = folder / "learns.rl"
    file.write_text(RECIPE.format(steps=steps, warm=warm, cluster=cluster, system=system,
                                  distribution=distribution))
    (folder / "rldsl.toml").touch()
    return str(file)


def require_exactly_once(run: Path, steps: int, prompts: int = 32) -> None:
    """Every step is there once, with its own prompts; none was trained twice."""
    kept = [e for e in kept_events(read_journal(run)) if e.kind == "step"]
    assert [e.data["step"] for e in kept] == list(range(1, steps + 1))
    drawn = [tuple(p[:2]) for e in kept for p in e.data["prompts"]]
    assert len(drawn) == steps * prompts == len(set(drawn))
