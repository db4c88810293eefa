"""Calls of the real command, and what every answer to bad input must have."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from rldsl.cli.main import main

ROOT = Path(__file__).parents[2]
RECIPE = """recipe tiny {
  feedback     = verify(exact)
  sampling     = group(4, max_tokens: 4)
  advantage    = group_mean
  ratio        = token(current / old)
  gate         = clip(0.2)
  reduction    = token_mean
  distribution = on_policy
  system       = sync on colocated
  model { policy: "toy:llama-1x16", dtype: float32 }
  data  { train: "toy:largest", prompts: 8 }
  optim { adamw(lr: 1e-3), updates_per_batch: 2 }
  budget { steps: 2 }
  track { mlflow: none }
}
"""


@dataclass(frozen=True)
class Answer:
    """An exit code, and everything that was printed."""

    code: int
    text: str

    def says(self, *words: str) -> bool:
        """Whether all the words are there; fails with what was said instead."""
        missing = [w for w in words if w not in self.text]
        assert not missing, f"{missing} not in:\n{self.text}"
        return True


def call(capsys, *argv: str) -> Answer:
    """One call of the command in this process."""
    capsys.readouterr()
    code = main(list(argv))
    out = capsys.readouterr()
    return Answer(code, out.err + out.out)


def refused(capsys, code: int, rl: str, *words: str, argv: list[str]) -> Answer:
    """A call that must end with this exit code and diagnostic, say these words and a remedy, and nothing of ours."""
    answer = call(capsys, *argv)
    civil(answer)
    assert answer.code == code, answer.text
    answer.says(f"error[{rl}]", "= fix: ", *words)
    return answer


def civil(answer: Answer) -> None:
    """No traceback, and nobody is told of a bug in the program."""
    for word in ("Traceback", "bug in rldsl", "[Errno", "object at 0x"):
        assert word not in answer.text, answer.text


def start(folder: Path, *argv: str, **options) -> subprocess.Popen[str]:
    """The command in a process of its own, on one thread."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-m", "rldsl", *argv], cwd=folder, env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def ended(process: subprocess.Popen[str], seconds: float = 120) -> Answer:
    """What the process came to."""
    text, _ = process.communicate(timeout=seconds)
    return Answer(process.returncode, text)


def codes(answer: Answer) -> list[str]:
    """Every diagnostic's code, in order."""
    return re.findall(r"(?:error|warning)\[(RL\d+)\]", answer.text)
