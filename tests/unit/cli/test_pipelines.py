"""`rldsl run FILE:PIPELINE` and what other commands say of it, on a model that trains in moments."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from rldsl.cli.main import main
from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.runtime.journal import kept_events, read_journal

RECIPES = """import std.sft_own
import std.opd
import std.value_pretrain

recipe tiny {
  feedback     = verify(exact)
  sampling     = group(4, max_tokens: 3)
  advantage    = group_norm
  ratio        = token(current / old)
  gate         = clip(0.2) + kl(0.1)
  reduction    = token_mean
  distribution = on_policy
  system       = sync on colocated
  model    { policy: "toy:llama-1x32", warm_start: 150 }
  data     { train: "toy:largest?length=2", prompts: 8 }
  optim    { adamw(lr: 1e-3), updates_per_batch: 2 }
  budget   { steps: 2 }
  evaluate { "toy:largest?length=2", every: 5, problems: 10 }
  track    { mlflow: none }
}
recipe harvesting extends tiny { data { collect: 1 }, optim { frozen } }
recipe tuning extends sft_own {
  feedback = verify(exact)
  sampling = offline(labels, max_tokens: 3)
  optim    { adamw(lr: 1e-3), warmup_steps: 0 }
  data     { prompts: 4 }
  budget   { steps: 2 }
  evaluate { "toy:largest?length=2", every: 5, problems: 10 }
  track    { mlflow: none }
}
recipe valuing extends value_pretrain {
  feedback = verify(exact)
  sampling = single(max_tokens: 3)
  data     { train: "toy:largest?length=2", prompts: 8 }
  optim    { frozen, updates_per_batch: 1 }
  critic   { adamw(lr: 1e-2) }
  budget   { steps: 2 }
  track    { mlflow: none }
}
recipe acting extends tiny {
  advantage = gae
  sampling  = single(max_tokens: 3)
  critic { adamw(lr: 1e-3) }
}
recipe distilling extends opd {
  feedback = verify(exact)
  sampling = student(n: 2, max_tokens: 3)
  data     { train: "toy:largest?length=2", prompts: 4 }
  budget   { steps: 2 }
  track    { mlflow: none }
}
"""
ALL = """
pipeline all {
  stage first   = tiny
  stage second  = tiny from first
  stage harvest = harvesting from second
  stage tuned   = tuning(data: harvest) from second
  stage values  = valuing from tuned
  stage actor   = acting(critic: values) from values
  stage student = distilling(teachers: [actor]) from first
}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch) -> Path:
    (tmp_path / "rldsl.toml").touch()
    (tmp_path / "p.rl").write_text(RECIPES + ALL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def weights(folder: Path, step: int, file: str = "policy.pt") -> dict:
    return torch.load(folder / "checkpoints" / f"batch-{step:06d}" / file, weights_only=True)


def same(a: dict, b: dict) -> bool:
    return all(torch.equal(a[name], b[name]) for name in a)


def test_every_kind_of_stage_hands_on_what_it_left(project: Path, capsys) -> None:
    assert main(["run", "p.rl:all", "--out", "here", "--format", "json"]) == 0
    out = json.loads(capsys.readouterr().out)["pipeline"]
    assert [s["status"] for s in out["stages"]] == ["FINISHED"] * 7 and out["status"] == "FINISHED"
    assert Path(out["report"]).read_text().startswith("<!doctype html>")
    here = project / "here"
    assert same(weights(here / "first", 2), weights(here / "second", 0))
    assert not same(weights(here / "second", 0), weights(here / "second", 2))
    for still in ("harvest", "values"):
        assert same(weights(here / still, 0), weights(here / still, 2))
    assert same(weights(here / "second", 2), weights(here / "tuned", 0))
    critics = [weights(here / stage, step, "critic.pt") for stage, step in (("values", 0), ("values", 2), ("actor", 0))]
    assert same(critics[1], critics[2]) and not same(critics[0], critics[1])
    fresh = torch.load(here / "second" / "checkpoints" / "batch-000000" / "optimizer.pt", weights_only=True)
    assert fresh["state"] == {}
    rows = [json.loads(line) for line in (here / "harvest" / "responses.jsonl").read_text().splitlines()]
    assert rows and all(r["response"] == r["answer"] and r["label"] is True for r in rows)
    assert len({(r["prompt"], r["response"]) for r in rows}) == len(rows)
    collected = [e.data["metrics"]["responses/collected"] for e in read_journal(here / "harvest") if e.kind == "step"]
    parts = sorted((here / "harvest" / "responses").glob("*.jsonl"))
    assert [len(p.read_text().splitlines()) for p in parts] == collected
    told = [e.data for e in read_journal(here) if e.kind == "evaluate"]
    assert [sorted(t["metrics"]) for t in told][:2] == [["held_out/score", "stage/first"],
                                                        ["held_out/score", "stage/second"]]
    assert main(["report", "here"]) == 0 and "teachers: actor" in capsys.readouterr().out
    assert main(["report", "here", "--format", "markdown"]) == 0 and "| student |" in capsys.readouterr().out


def test_low_rank_additions_are_merged_into_what_a_stage_leaves(project: Path) -> None:
    (project / "p.rl").write_text(RECIPES + """pipeline p {
  stage a = tiny { optim { lora_rank: 2, lora_alpha: 4 } }
  stage b = tiny from a
}
""")
    assert main(["run", "p.rl:p", "--out", "here"]) == 0
    left, begun = weights(project / "here" / "a", 2), weights(project / "here" / "b", 0)
    added = left["layers.0.adapters.out_b"] @ left["layers.0.adapters.out_a"] * 2
    assert float(added.abs().max()) > 0 and torch.allclose(begun["layers.0.out"], left["layers.0.out"] + added)
    assert torch.equal(begun["embed"], left["embed"])


def test_a_finished_pipeline_has_nothing_to_do(project: Path, capsys) -> None:
    (project / "p.rl").write_text(RECIPES + "pipeline p {\n stage a = tiny\n stage b = tiny from a\n}\n")
    assert main(["run", "p.rl:p", "--out", "runs/here", "--seed", "3"]) == 0
    assert main(["diff", "runs/here", "p.rl:p"]) == 0 and "from 3 to 1" in capsys.readouterr().out
    assert main(["diff", "runs/here", "runs/here/a"]) == 1 and "runs/here/STAGE" in capsys.readouterr().err
    assert main(["diff", "runs/here/a", "runs/here/b"]) == 0 and "stage:a" in capsys.readouterr().out
    before = (project / "runs" / "here" / "b" / "journal.jsonl").read_bytes()
    assert main(["resume", "runs/here"]) == 0
    assert (project / "runs" / "here" / "b" / "journal.jsonl").read_bytes() == before
    capsys.readouterr()
    assert main(["runs"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1] == ["runs/here", "p", "finished", "pipeline"]
    assert [line[:4] for line in lines[2:]] == [["a", "tiny", "3", "finished"], ["b", "tiny", "3", "finished"]]
    assert main(["runs", "--format", "json"]) == 0
    assert {r["pipeline"] for r in json.loads(capsys.readouterr().out)["runs"]} == {str(project / "runs" / "here")}


def test_a_stage_that_fails_stops_the_pipeline_and_is_tried_again(project: Path, capsys, monkeypatch) -> None:
    from rldsl.backends.local import launch
    from rldsl.diagnostics import Diagnostic
    from rldsl.runtime.errors import RunError

    def torn(*_):
        raise RunError(Diagnostic("RL609", "cannot be taken over"))

    (project / "p.rl").write_text(RECIPES + "pipeline p {\n stage a = tiny\n stage b = tiny from a\n}\n")
    whole = launch.take_over
    monkeypatch.setattr(launch, "take_over", torn)
    assert main(["run", "p.rl:p", "--out", "here"]) == 3
    said = capsys.readouterr()
    assert "RL609" in said.err and "failed in the stage `b`" in said.out and "rldsl resume here" in said.out
    monkeypatch.setattr(launch, "take_over", whole)
    assert main(["resume", "here"]) == 0
    ends = [e.data["status"] for e in read_journal(project / "here") if e.kind == "end"]
    assert ends == ["FAILED", "FINISHED"]
    assert [e.data["step"] for e in kept_events(read_journal(project / "here" / "a")) if e.kind == "step"] == [1, 2]


def test_nothing_starts_where_a_stage_lacks_something(project: Path, capsys) -> None:
    (project / "p.rl").write_text(RECIPES + "pipeline p {\n stage a = tiny\n stage b = tiny"
                                  ' { data { train: "nowhere.jsonl" } } from a\n}\n')
    assert main(["run", "p.rl:p", "--out", "here"]) == 4
    assert "nowhere.jsonl" in capsys.readouterr().err and not (project / "here").exists()
    assert main(["compile", "p.rl:p", "--preflight"]) == 4
    assert main(["compile", "p.rl:p", "--format", "json"]) == 0
    out = capsys.readouterr().out
    plan = json.loads(out[out.index('{\n  "version"'):])["plans"][0]
    assert [s["name"] for s in plan["stages"]] == ["a", "b"] and Path(plan["plan"]).is_file()


def test_a_stage_that_its_engines_cannot_run_is_named_before_anything_starts(project: Path, capsys) -> None:
    """Also where what it takes from another stage is none of the trouble."""
    (project / "p.rl").write_text(RECIPES + """pipeline p {
  stage a = tiny
  stage b = tiny { cluster { nodes: 1, context: 2 } } from a
  stage c = tiny from b
}
""")
    assert main(["run", "p.rl:p", "--out", "here"]) == 4
    said = capsys.readouterr().err
    assert said.count("RL406") == 1 and "the stage `b`: the cluster backend cannot run" in said
    assert "context: 2" in said and "heads are 16 wide" in said and not (project / "here").exists()


def test_a_clash_with_the_policy_that_a_stage_takes_along_is_told_at_what_it_takes(project: Path, capsys) -> None:
    (project / "p.rl").write_text(RECIPES + """recipe long extends tuning { sampling.max_tokens = 600 }
pipeline p {
  stage a = harvesting
  stage b = long(data: a) from a
}
""")
    assert main(["compile", "p.rl:p"]) == 1
    said = capsys.readouterr().err
    assert "RL330" in said and "stage b = long(data: a) from a" in said


def test_an_address_that_no_stage_would_read_is_refused(project: Path, capsys) -> None:
    (project / "p.rl").write_text(RECIPES + "pipeline p {\n stage a = tiny\n}\n")
    assert main(["run", "p.rl:p", "--out", "here", "--address", "here:1"]) == 3
    assert "RL208" in capsys.readouterr().err


def test_an_address_is_for_the_stages_on_a_cluster(project: Path, capsys) -> None:
    (project / "p.rl").write_text(RECIPES + "pipeline p {\n stage a = tiny\n"
                                  " stage b = tiny { cluster { nodes: 1, gpus_per_node: 1 } } from a\n}\n")
    asked = []

    def opened(plan, folder, root, observe, *, resume, address):
        asked.append((plan.name, address))
        raise RecipeError([Diagnostic("RL407", "no cluster here")])

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "rldsl.backends.cluster.launch", SimpleNamespace(open_run=opened))
        assert main(["run", "p.rl:p", "--out", "here", "--address", "here:1"]) == 3
    assert asked == [("tiny", "here:1")] and "failed in the stage `b`" in capsys.readouterr().out


def test_a_stage_before_which_nothing_is_finished_is_no_run_of_its_own(project: Path, capsys) -> None:
    (project / "p.rl").write_text(RECIPES + "pipeline p {\n stage a = tiny\n stage b = tiny from a\n}\n")
    assert main(["run", "p.rl:p", "--out", "here"]) == 0
    (project / "here" / "a" / "journal.jsonl").unlink()
    (project / "here" / "b" / "journal.jsonl").unlink()
    assert main(["resume", "here/b"]) == 3
    assert "the stage `a` is not finished" in capsys.readouterr().err


def test_explain_and_diff(project: Path, capsys) -> None:
    assert main(["explain", "p.rl:all"]) == 0
    assert "from second; data: harvest" in capsys.readouterr().out
    assert main(["explain", "p.rl:all.actor", "gate.low"]) == 0 and "0.2" in capsys.readouterr().out
    assert main(["explain", "p.rl:all", "gate.low"]) == 1 and "p.rl:all.STAGE gate.low" in capsys.readouterr().err
    assert main(["explain", "p.rl:all", "--html", "e.html"]) == 0 and (project / "e.html").is_file()
    assert main(["diff", "p.rl:all", "p.rl:all"]) == 0 and "train the same" in capsys.readouterr().out
    assert main(["diff", "p.rl:all.first", "p.rl:all.second", "--format", "json"]) == 0
    assert main(["diff", "p.rl:all", "p.rl:tiny"]) == 1 and "p.rl:all.STAGE" in capsys.readouterr().err
