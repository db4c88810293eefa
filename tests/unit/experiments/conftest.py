"""A project with a small sweep, and children that only pretend to train."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rldsl.experiments import driver

RECIPE = """recipe tiny {
  feedback     = verify(exact)
  sampling     = group(4, max_tokens: 6)
  advantage    = group_norm
  ratio        = token(current / old)
  gate         = clip(0.2)
  reduction    = token_mean
  distribution = on_policy
  system       = sync on colocated
  model    { policy: "toy:llama-1x16" }
  data     { train: "toy:largest", prompts: 4 }
  optim    { adamw(lr: 1e-3), updates_per_batch: 2 }
  budget   { steps: 2 }
  evaluate { "toy:largest", every: 2, problems: 5 }
  track    { mlflow: none }
}
"""
SWEEP = """
sweep s of tiny {
  gate.high in [0.2, 0.3, 0.4]
  seed      in 1..2
}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch) -> Path:
    """The working directory: tiny.rl with the sweep `s` of three points and two seeds."""
    (tmp_path / "rldsl.toml").touch()
    (tmp_path / "tiny.rl").write_text(RECIPE + SWEEP)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def children(monkeypatch) -> None:
    """Runs are made by child.py instead of training."""
    monkeypatch.setattr(driver, "COMMAND", (sys.executable, str(Path(__file__).with_name("child.py"))))
    monkeypatch.setattr(driver, "POLL", 0.02)


def started(project: Path) -> list[str]:
    """The folders in which a child was started, in order."""
    log = project / "started.txt"
    return log.read_text().split() if log.exists() else []
