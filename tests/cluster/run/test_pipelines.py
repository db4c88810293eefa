"""A pipeline whose stages change machines: what each leaves is what the next begins with, bit for bit; killed and
resumed in its second stage."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file

from rldsl.backends.local.formats.hf_weights import exported
from rldsl.backends.local.formats.toy import toy_policy
from rldsl.runtime.journal import FILE, kept_events, read_journal

from . import runs

MODEL = "toy:llama-2x128"
RECIPES = f"""import std.sft
import std.grpo
import std.opd

recipe begin extends sft {{
  feedback = verify(exact)
  sampling = offline(demonstrations, max_tokens: 6)
  model    {{ policy: "{MODEL}", dtype: float32 }}
  data     {{ train: "toy:reverse", prompts: 64 }}
  optim    {{ adamw(lr: 2e-3) }}
  budget   {{ steps: 60 }}
  track    {{ mlflow: none, checkpoint_every: 2 }}
}}
recipe reward extends grpo {{
  feedback     = verify(exact)
  sampling     = group(8, max_tokens: 6)
  distribution = tis(2.0)
  system       = sync on disaggregated(rollout: 1, train: 2)
  model        {{ policy: "{MODEL}", dtype: float32 }}
  data         {{ train: "toy:reverse", prompts: 16 }}
  optim        {{ adamw(lr: 2e-4) }}
  budget       {{ steps: 6 }}
  evaluate     {{ "toy:reverse", samples: 4, every: 6, problems: 20 }}
  cluster      {{ nodes: 1, tensor: 2 }}
  track        {{ mlflow: none, checkpoint_every: 2 }}
}}
recipe taught extends opd {{
  feedback     = verify(exact)
  sampling     = student(n: 4, max_tokens: 6)
  distribution = tis(2.0)
  system       = sync on disaggregated(rollout: 1, train: 1)
  model        {{ policy: "{MODEL}", teachers: ["{MODEL}"], dtype: float32 }}
  data         {{ train: "toy:reverse", prompts: 16 }}
  optim        {{ adamw(lr: 2e-4) }}
  budget       {{ steps: 2 }}
  cluster      {{ nodes: 1 }}
  track        {{ mlflow: none, checkpoint_every: 2 }}
}}

pipeline p {{
  stage start   = begin
  stage rl      = reward from start
  stage student = taught(teachers: [rl]) from start
  stage back    = reward {{
    system = sync on colocated
    cluster {{ local }}
    budget {{ steps: 2 }}
  }} from student
}}
"""


def weights(run: Path, stage: str, which: int) -> dict[str, torch.Tensor]:
    """Of the first (0) or the last (-1) checkpoint of a stage, under Hugging Face names."""
    folder = sorted((run / stage / "checkpoints").glob("batch-*"))[which]
    if (folder / "policy.safetensors").exists():
        return load_file(folder / "policy.safetensors")
    policy = toy_policy(MODEL, torch.float32, 1)
    policy.load_state_dict(torch.load(folder / "policy.pt", weights_only=True))
    return exported(policy)


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return set(a) == set(b) and all(torch.equal(a[name], b[name]) for name in a)


def test_stages_hand_on_over_both_backends_and_through_a_kill(tmp_path: Path) -> None:
    (tmp_path / "rldsl.toml").touch()
    (tmp_path / "p.rl").write_text(RECIPES)
    run = tmp_path / "run"
    going = runs.Process(tmp_path, "run", "p.rl:p", "--out", str(run))
    going.until_step(run / "rl", 3)
    going.inner.kill()
    going.wait()
    finished = (run / "start" / FILE).read_bytes()
    assert all(going.gone(kind, 30) for kind in ("ray::RolloutActor", "ray::RankActor"))
    resumed = runs.Process(tmp_path, "resume", str(run))
    assert resumed.wait() == 0, resumed.said()
    assert (run / "start" / FILE).read_bytes() == finished, "a finished stage is not run again"
    assert [e.data["step"] for e in read_journal(run / "rl") if e.kind == "resume"] == [2]
    assert [e.data["step"] for e in kept_events(read_journal(run / "rl")) if e.kind == "step"] == [*range(1, 7)]
    assert [e.data["step"] for e in kept_events(read_journal(run / "student")) if e.kind == "step"] == [1, 2]
    for before, after in (("start", "rl"), ("start", "student"), ("student", "back")):
        assert same(weights(run, before, -1), weights(run, after, 0)), f"{before} to {after}"
        assert not same(weights(run, after, 0), weights(run, after, -1)), f"{after} trains"
    assert same(weights(run, "rl", -1), load_file(run / "student" / "teacher" / "model.safetensors"))
