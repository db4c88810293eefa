"""What is wrong with a sweep is said before anything runs, each with its own message."""

from __future__ import annotations

import json

import pytest

from rldsl.cli.main import main

BAD = [
    ("gaet.high in [0.2, 0.3]", 1, "RL201", "gate"),
    ("gate.hihg in [0.2, 0.3]", 1, "RL207", "high"),
    ("gate.high in []", 1, "RL212", "nothing to run"),
    ("optim.updates_per_batch in 4..2", 1, "RL212", "lower end first"),
    ("zip { }", 1, "RL212", "zip without dimensions"),
    ("gate.high in 0.1..0.2 linear 0", 1, "RL212", "at least one value"),
    ("data.prompts in pow2 0..4", 1, "RL204", "`pow2 a..b` doubles"),
    ('track.mlflow in ["foo://x"]', 1, "RL204", "a database, a folder or a server"),
    ('track.mlflow in ["sqlite://"]', 1, "RL204", "in memory is gone"),
    ('track.mlflow in ["http://"]', 1, "RL204", "behind http://"),
    ("data.prompts in 1..1000000000", 1, "RL213", "has 1,000,000,000 combinations"),
    ("seed in 1..1000000000", 1, "RL213", "1,000,000,000"),
    ("gate.high in 0.1..0.5 linear 40000\nadvantage in [group_norm, group_mean]\nseed in 1..12500", 1, "RL213",
     "40,000 × 2 × 12,500 = 1,000,000,000"),
    ("sampling in [single(max_tokens: 6)]", 1, "RL215", "RL301"),
    ("gate.high in [0.2, -1]", 1, "RL204", "at least"),
    ("zip { gate.low in [0.1, 0.2]\ngate.high in [0.3] }", 1, "RL214", "same number"),
    ("gate.high in [0.2]\nexclude when gate.high == 0.2", 1, "RL215", "Every point"),
    ("gate.high in [0.2]\nexclude when gate.high == 1 / 0", 1, "RL204", "Division by zero"),
    ("gate.high in [0.2]\nexclude when gate.high == nope * 2", 1, "RL201", "`nope` is not defined here"),
]


def swept(project, capsys, body: str, *args: str) -> tuple[int, dict]:
    text = (project / "tiny.rl").read_text().partition("\nsweep ")[0]
    (project / "tiny.rl").write_text(f"{text}\nsweep s of tiny {{\n{body}\n}}\n")
    code = main(["sweep", "tiny.rl", "--format", "json", *args])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("body, code, wanted, told", BAD, ids=[f"{b[2]} {b[0].splitlines()[0]}" for b in BAD])
def test_a_wrong_sweep_is_told_and_starts_nothing(project, capsys, body, code, wanted, told) -> None:
    found, out = swept(project, capsys, body)
    errors = [d for d in out["diagnostics"] if d["severity"] == "error"]
    assert (found, [d["code"] for d in errors]) == (code, [wanted]), out
    d = errors[0]
    assert told in f"{d['message']} {d['why']} {d['fix']} {[s['label'] for s in d['spans']]}"
    assert d["spans"] and not (project / "runs").exists()


def test_constants_stand_wherever_a_value_does(project, capsys) -> None:
    """In conditions too, computed; and what is shown of a point is its value."""
    (project / "tiny.rl").write_text("let lo = 0.1\n" + (project / "tiny.rl").read_text())
    code, out = swept(project, capsys, "gate.low in [lo, lo * 2, 3e-1]"
                      "\nexclude when gate.low == lo * 2 or gate.low > -lo + 0.35", "--dry-run")
    points = [(p["values"]["gate.low"], p["state"]) for p in out["expansion"]["points"]]
    assert code == 0 and points == [("0.1", "ready"), ("0.2", "excluded"), ("3e-1", "excluded")]


def test_a_point_that_cannot_compile_is_recorded_and_the_rest_is_run(project, capsys) -> None:
    code, out = swept(project, capsys, "sampling in [group(4, max_tokens: 6), single(max_tokens: 6)]", "--dry-run")
    states = [(p["state"], [c for c, _ in p["found"]]) for p in out["expansion"]["points"]]
    assert code == 0 and states == [("ready", []), ("invalid", ["RL301"])] and out["expansion"]["runs"] == 1
    assert [(d["code"], d["severity"]) for d in out["diagnostics"] if d["code"] == "RL215"] == [("RL215", "warning")]


def test_a_point_that_no_backend_here_runs_is_seen_in_the_dry_run(project, capsys) -> None:
    systems = "system in [sync on colocated, one_step_off on disaggregated(rollout: 1, train: 1)]"
    code, out = swept(project, capsys, f"{systems}\ndistribution in [mis(0.5..2.0)]", "--dry-run")
    points = out["expansion"]["points"]
    assert code == 0 and [p["state"] for p in points] == ["ready", "invalid"]
    (wrong, says), = points[1]["found"]
    assert wrong == "RL406" and "samples while it trains" in says and "RL406" in str(out["diagnostics"])


@pytest.mark.parametrize("cluster, states", [("nodes: 1", ["ready"]), ("local", ["invalid"])])
def test_points_are_judged_by_the_backend_that_would_run_them(project, capsys, cluster, states) -> None:
    """What one process cannot do, a cluster can."""
    text = (project / "tiny.rl").read_text().replace("toy:llama-1x16", "toy:llama-2x128").partition("\nsweep ")[0]
    (project / "tiny.rl").write_text(text.replace("  budget ", f"  cluster  {{ {cluster} }}\n  budget "))
    body = """system       in [stream(push_every: 2) on disaggregated(rollout: 1, train: 1)]
  distribution in [tis(2.0)]"""
    _, out = swept(project, capsys, body, "--dry-run")
    if states == ["ready"]:
        assert [p["state"] for p in out["expansion"]["points"]] == states
    else:
        assert [d["code"] for d in out["diagnostics"] if d["severity"] == "error"] == ["RL215"]
        assert "RL406" in out["diagnostics"][-1]["message"]


@pytest.mark.parametrize("metric, told", [
    ("held_out/scroe", "held_out/score"), ("held_out/toy:larges", "held_out/toy:largest"),
    ("rewardd/mean", "reward/mean"), ("held_out/score", "a task in the block"),
    ("critic/explained_variance", "learns a value function")])
def test_a_metric_that_never_appears(project, capsys, metric, told) -> None:
    text = (project / "tiny.rl").read_text()
    if metric == "held_out/score":
        text = text.replace('  evaluate { "toy:largest", every: 2, problems: 5 }\n', "")
    (project / "tiny.rl").write_text(text)
    code, out = swept(project, capsys, "gate.high in [0.2, 0.3]", "--metric", metric)
    assert code == 4 and out["diagnostics"][-1]["code"] == "RL410" and not (project / "runs").exists()
    assert told in f"{out['diagnostics'][-1]['why']} {out['diagnostics'][-1]['fix']}"


def test_the_metric_of_a_task_may_be_compared(project, capsys) -> None:
    code, out = swept(project, capsys, "gate.high in [0.2, 0.3]", "--metric", "held_out/toy:largest", "--dry-run")
    assert code == 0 and out["expansion"]["runs"] == 2


def test_a_server_that_is_down_at_the_start(project, capsys) -> None:
    text = (project / "tiny.rl").read_text().replace("mlflow: none", 'mlflow: "http://127.0.0.1:9"')
    (project / "tiny.rl").write_text(text)
    code, out = swept(project, capsys, "gate.high in [0.2, 0.3]")
    d = out["diagnostics"][-1]
    assert (code, d["code"]) == (4, "RL409") and "http://127.0.0.1:9 does not answer" in d["message"]
    assert "2 runs would be nested" in d["why"] and not (project / "runs").exists()
