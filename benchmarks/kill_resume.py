"""Kill −9 at random moments of a real `rldsl run`, then `rldsl resume`: does the run end as if nothing had happened?

    python benchmarks/kill_resume.py [--kills 20] [--seed 0] [--folder DIR]

The recipe refills batches, trains four updates of each, and has a critic and a KL to a reference. Moments are uniform
between the journal's first line and its last. A resumed run must end with the bits of an undisturbed one (policy,
critic, both optimizers) and with the same record of which prompt was trained, each drawn once. Exit code 1 if not.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rldsl.runtime.journal import FILE, kept_events, read_journal

ROOT = Path(__file__).resolve().parents[1]
STEPS = 30
RECIPE = f"""recipe killed {{
  feedback     = verify(regex, pattern: "[a-k]")
  sampling     = group(4, max_tokens: 4) | keep(mixed, max_rounds: 8)
  advantage    = gae
  ratio        = token(current / old)
  gate         = clip(0.2) + kl(0.01)
  reduction    = token_mean
  distribution = on_policy
  system       = sync on colocated
  model    {{ policy: "toy:llama-2x64", warm_start: 10 }}
  data     {{ train: "toy:largest", prompts: 16 }}
  optim    {{ adamw(lr: 1e-4), updates_per_batch: 4 }}
  critic   {{ adamw(lr: 1e-3), warmup_steps: 1, value_clip: 0.2 }}
  budget   {{ steps: {STEPS} }}
  evaluate {{ "toy:largest", every: 5, problems: 40 }}
  track    {{ mlflow: none }}
}}
"""
STATES = ("policy.pt", "optimizer.pt", "critic.pt", "critic_optimizer.pt")


@dataclass(frozen=True)
class Kill:
    """One kill: seconds since the journal's first line, what had been written, where the resume began, and what in
    the end differs from the undisturbed run (nothing, if all is well)."""

    seconds: float
    step: int
    torn: bool
    resumed: int
    differences: tuple[str, ...]


def main() -> int:
    args = _arguments()
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(args.folder or scratch)
        project.mkdir(parents=True, exist_ok=True)
        (project / "killed.rl").write_text(RECIPE, encoding="utf-8")
        seconds = _seconds(_undisturbed(project))
        whole, draw = outcome(project / "whole"), random.Random(args.seed)
        kills = [one(project, f"run-{i:02d}", seconds, draw, whole) for i in range(args.kills)]
    print(table(kills, seconds, whole))
    return int(any(k.differences for k in kills))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", help="where runs are kept (default: a temporary folder)")
    return parser.parse_args()


def one(project: Path, name: str, seconds: float, draw: random.Random, whole: Mapping[str, Any]) -> Kill:
    """A run killed once and resumed. A moment after the run's end is drawn again."""
    for attempt in range(100):
        folder = project / f"{name}-{attempt}"
        moment = draw.uniform(0, seconds)
        if killed(project, folder, moment):
            break
    text = (folder / FILE).read_bytes()
    step = max((e.data["step"] for e in read_journal(folder) if e.kind == "step"), default=0)
    _rldsl(project, "resume", folder.name)
    resumed = [e.data["step"] for e in read_journal(folder) if e.kind == "resume"]
    found = outcome(folder)
    return Kill(moment, step, not text.endswith(b"\n"), *resumed, tuple(k for k in whole if found[k] != whole[k]))


def killed(project: Path, folder: Path, moment: float) -> bool:
    """Starts a run in `folder` and kills it `moment` seconds after its journal began; False if it was over by then."""
    process = subprocess.Popen(_command("run", "killed.rl", "--out", folder.name), cwd=project, env=_environment(),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not (folder / FILE).exists():
        time.sleep(0.002)
    time.sleep(moment)
    process.kill()
    return process.wait() == -9


def outcome(folder: Path) -> dict[str, Any]:
    """What a run came to: every state's bits, each prompt's fate, and each step's numbers without its times."""
    events = kept_events(read_journal(folder))
    steps = [e.data for e in events if e.kind == "step"]
    prompts = [tuple(p) for s in steps for p in s["prompts"]]
    drawn = Counter((epoch, row) for epoch, row, _ in prompts)
    last = folder / "checkpoints" / f"batch-{STEPS:06d}"
    return {**{name: _bits(torch.load(last / name, weights_only=True)) for name in STATES}, "prompts": prompts,
            "each prompt once": max(drawn.values()) == 1,
            "numbers": [{k: v for k, v in s["metrics"].items() if "second" not in k} for s in steps],
            "evaluations": [e.data for e in events if e.kind == "evaluate"]}


def _bits(state: Any) -> Any:
    """A state dictionary with every tensor as its bytes."""
    if isinstance(state, torch.Tensor):
        return state.dtype, tuple(state.shape), state.reshape(-1).view(torch.uint8).numpy().tobytes()
    if isinstance(state, Mapping):
        return {key: _bits(value) for key, value in state.items()}
    return [_bits(value) for value in state] if isinstance(state, (list, tuple)) else state


def table(kills: list[Kill], seconds: float, whole: Mapping[str, Any]) -> str:
    """The kills in order of their moment, as Markdown."""
    fates = Counter(fate for *_, fate in whole["prompts"])
    told = ", ".join(f"{n} {fate}" for fate, n in sorted(fates.items()))
    lines = [f"Undisturbed: {STEPS} steps, {seconds:.1f} s from first to last line; prompts drawn once each: {told}.",
             "", "| killed after | last step written | torn line | resumed after step | differs from undisturbed |",
             "| ---: | ---: | --- | ---: | --- |"]
    for k in sorted(kills, key=lambda k: k.seconds):
        start = "the beginning" if k.resumed < 0 else k.resumed
        lines.append(f"| {k.seconds:.2f} s | {k.step} | {'yes' if k.torn else 'no'} | {start} | "
                     f"{', '.join(k.differences) or 'nothing'} |")
    same = sum(not k.differences for k in kills)
    return "\n".join([*lines, "", f"{same} of {len(kills)} resumed runs are bit-equal to the undisturbed one."])


def _undisturbed(project: Path) -> Path:
    _rldsl(project, "run", "killed.rl", "--out", "whole")
    return project / "whole"


def _seconds(folder: Path) -> float:
    times = [e.time for e in read_journal(folder)]
    return times[-1] - times[0]


def _rldsl(project: Path, *words: str) -> None:
    done = subprocess.run(_command(*words), cwd=project, env=_environment(), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"rldsl {' '.join(words)} ended with {done.returncode}:\n{done.stderr}")


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "rldsl", *words]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


if __name__ == "__main__":
    sys.exit(main())
