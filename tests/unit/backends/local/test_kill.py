"""A run that is killed at any moment and resumed ends with the same bits, and trains every prompt once."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest

from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.plan import Plan, from_json, to_json
from rldsl.compiler.resolve import resolve
from rldsl.runtime.journal import kept_events, read_journal

from . import killed

RECIPE = """recipe killed {
  feedback     = verify(exact)
  sampling     = group(4, max_tokens: 4) | keep(mixed, max_rounds: 8, exhausted: short_batch)
  advantage    = gae
  ratio        = token(current / old)
  gate         = clip(0.2) + kl(0.01)
  reduction    = token_mean
  distribution = on_policy
  system       = sync on colocated
  model    { policy: "toy:llama-1x32", warm_start: 45, dtype: fp32 }
  data     { train: "toy:largest", prompts: 8 }
  optim    { adamw(lr: 1e-3), updates_per_batch: 4 }
  critic   { adamw(lr: 1e-3), warmup_steps: 1 }
  budget   { steps: 5 }
  evaluate { "toy:largest", every: 2, problems: 10 }
}
"""
WORKERS = multiprocessing.get_context("forkserver")
WORKERS.set_forkserver_preload([killed.__name__])


def start(folder: Path, plan: Plan, moment: str | None = None, count: int = 0) -> int:
    """One process that trains in `folder`; its exit code."""
    folder.mkdir(exist_ok=True)
    data = to_json(plan)
    next(n for n in data["graph"] if n["kind"] == "checkpoint")["options"]["every"] = 2
    (folder / "plan.json").write_text(json.dumps(data))
    process = WORKERS.Process(target=killed.train, args=(str(folder), moment, count))
    process.start()
    process.join(120)
    return process.exitcode


def outcome(folder: Path) -> tuple[list[str], list[dict], list[tuple]]:
    """Final fingerprints, every step's numbers without the times, and what became of every prompt."""
    events = kept_events(read_journal(folder))
    steps = [e.data for e in events if e.kind == "step"]
    numbers = [{k: v for k, v in s["metrics"].items() if "second" not in k} for s in steps]
    scores = [e.data for e in events if e.kind == "evaluate"]
    fates = [tuple(p) for s in steps for p in s["prompts"]]
    return json.loads((folder / "final.json").read_text()), [*numbers, *scores], fates


@pytest.fixture(scope="module")
def plan(tmp_path_factory) -> Plan:
    file = tmp_path_factory.mktemp("recipe") / "killed.rl"
    file.write_text(RECIPE)
    return from_json(json.loads(json.dumps(to_json(compile_recipe(resolve(str(file)))[0]))))


@pytest.fixture(scope="module")
def undisturbed(plan: Plan, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    assert start(folder, plan) == 0
    return outcome(folder)


def test_every_prompt_is_drawn_once(undisturbed) -> None:
    _, numbers, fates = undisturbed
    drawn = [(epoch, row) for epoch, row, _ in fates]
    assert len(set(drawn)) == len(drawn)
    assert sum(fate == "trained" for *_, fate in fates) == sum(n["groups/kept"] for n in numbers[:5])
    assert {fate for *_, fate in fates} == {"trained", "filtered"}


@pytest.mark.parametrize("moment, count", [
    ("rollout", 1), ("rollout", 9), ("backward", 40), ("optimizer", 10), ("checkpoint files", 7),
    ("checkpoint manifest", 6), ("checkpoint rename", 2), ("journal", 8),
])
def test_a_kill_changes_nothing(plan: Plan, undisturbed, moment: str, count: int, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert start(folder, plan, moment, count) == -9
    assert start(folder, plan) == 0
    assert outcome(folder) == undisturbed
