"""Searches: which points are tried, that nothing is tried twice, and that seeds end together or not at all."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rldsl.cli.main import main
from rldsl.experiments import search
from rldsl.experiments.expansion import Line, read_expansion
from rldsl.experiments.registry import entries
from rldsl.experiments.search import COMPLETE, ENDED, FAILED, Trial, coordinates, index_of, told
from rldsl.experiments.search_optuna import Proposer
from rldsl.runtime.journal import read_journal

from .conftest import started

GRID = (Line(("a",), 3, False), Line(("b",), 10, True))
PLAIN = {"sampler": "tpe", "startup": 3, "prune": "none", "patience": 0, "seed": 0, "goal": "maximize"}


def test_points_are_numbered_with_the_last_line_fastest() -> None:
    assert [coordinates(i, GRID) for i in (0, 9, 10, 29)] == [[0, 0], [0, 9], [1, 0], [2, 9]]
    assert all(index_of(coordinates(i, GRID), GRID) == i for i in range(30))


def value(index: int) -> float:
    """Best at a = 1 and b = 7."""
    a, b = coordinates(index, GRID)
    return -abs(b - 7) - 3.0 * (a != 1)


def tried(strategy, number: int) -> list[Trial]:
    trials: list[Trial] = []
    while len(trials) < number:
        free = set(range(30)) - {t.index for t in trials}
        trials += [Trial(i, COMPLETE, value(i)) for i in strategy.propose(trials, 1, free)]
    return trials


def test_the_estimator_finds_the_best_point_before_half_are_tried() -> None:
    found = [max(t.value for t in tried(Proposer(GRID, **{**PLAIN, "seed": s}), 14)) for s in range(5)]
    assert sum(v >= -1.0 for v in found) >= 4


def test_the_same_trials_give_the_same_proposal_whoever_asks() -> None:
    one = tried(Proposer(GRID, **PLAIN), 8)
    free = set(range(30)) - {t.index for t in one}
    assert len({t.index for t in one}) == 8
    assert Proposer(GRID, **PLAIN).propose(one, 2, free) == Proposer(GRID, **PLAIN).propose(list(one), 2, free)
    assert tried(Proposer(GRID, **{**PLAIN, "sampler": "random"}), 8) != one


def test_every_point_is_proposed_once_until_none_is_left() -> None:
    trials = tried(Proposer(GRID, **PLAIN), 30)
    assert sorted(t.index for t in trials) == list(range(30))
    assert Proposer(GRID, **PLAIN).propose(trials, 3, set()) == []


def test_less_is_better_where_the_search_says_so() -> None:
    strategy = Proposer(GRID, **{**PLAIN, "goal": "minimize", "prune": "median"})
    past = [Trial(i, COMPLETE, 1.0, {1: 1.0, 2: 1.0}) for i in range(6)]
    assert strategy.behind(past, {1: 2.0, 2: 2.0}) and not strategy.behind(past, {1: 0.5, 2: 0.5})


def test_a_trial_ends_below_the_median_of_the_finished_ones_after_its_patience() -> None:
    past = [Trial(i, COMPLETE, 0.5, {1: 0.1, 5: 0.5}) for i in range(6)]
    median = Proposer(GRID, **{**PLAIN, "prune": "median", "patience": 3})
    assert not median.behind(past, {1: 0.0}) and median.behind(past, {1: 0.0, 5: 0.2})
    assert not median.behind(past, {1: 0.0, 5: 0.6}) and not median.behind(past, {}) and not median.behind([], {5: 0.0})
    assert not Proposer(GRID, **PLAIN).behind(past, {1: 0.0, 5: 0.0})


def test_failed_and_pruned_trials_are_told_too() -> None:
    past = [Trial(0, FAILED), Trial(1, ENDED, None, {1: 0.1}), Trial(2, COMPLETE, 0.5, {1: 0.4}), Trial(3, COMPLETE)]
    assert len(Proposer(GRID, **PLAIN).propose(past, 2, set(range(4, 30)))) == 2


# ── the loop, with children that only pretend to train ──────────────────────────────────────────────

SEARCHED = """
sweep s of tiny {
  gate.high in [0.2, 0.25, 0.3, 0.35, 0.4]
  seed      in 1..2
  search: optuna(3, startup: 1, metric: "reward/mean")
}
"""


class InOrder:
    """Proposes the first free points, and ends those that are below a level at a batch."""

    def __init__(self, level: float | None = None):
        self.level, self.asked = level, []

    def propose(self, told, number, free):
        self.asked.append(number)
        return sorted(free)[:number]

    def behind(self, told, curve):
        return self.level is not None and curve.get(5, 1.0) < self.level


@pytest.fixture
def searched(project: Path, children, monkeypatch) -> Path:
    """The project with a search over five points and two seeds; a point's number is what its runs come to."""
    text = (project / "tiny.rl").read_text().partition("\nsweep ")[0]
    (project / "tiny.rl").write_text(text + SEARCHED)
    (project / "behave.json").write_text(json.dumps({f"p00{i}": i / 10 for i in range(1, 6)}))
    monkeypatch.setattr(search, "SECONDS", 0.05)
    return project


def sweep(capsys, *args: str) -> tuple[int, dict]:
    code = main(["sweep", "tiny.rl", "--jobs", "2", "--format", "json", *args])
    return code, json.loads(capsys.readouterr().out)


def home(project: Path) -> Path:
    return next(p for p in (project / ".rldsl" / "sweeps").iterdir() if p.is_dir())


def test_as_many_points_as_asked_for_are_tried_with_all_their_seeds(searched, capsys) -> None:
    code, out = sweep(capsys)
    assert code == 0 and len(out["runs"]) == 6 and {r["status"] for r in out["runs"]} == {"FINISHED"}
    assert out["runs"][0]["points"] == ["p001"], "the recipe's own point is the first"
    trials = told(home(searched))
    assert len({t.index for t in trials}) == 3 and {t.state for t in trials} == {COMPLETE}
    assert [t.value for t in trials] == pytest.approx([(t.index + 1) / 10 for t in trials])
    assert trials[0].curve[10] == pytest.approx(0.05) and len(trials[0].curve) == 20
    steps = [e.data["metrics"] for e in read_journal(home(searched)) if "search/best" in e.data.get("metrics", {})]
    assert [s["search/trials"] for s in steps] == [1.0, 2.0, 3.0]
    assert steps[-1]["search/best"] == pytest.approx(max(t.value for t in trials))


def test_a_search_that_is_over_is_over(searched, capsys) -> None:
    _, first = sweep(capsys)
    begun = len(started(searched))
    code, out = sweep(capsys)
    assert code == 0 and {r["status"] for r in out["runs"]} == {"REUSED"} and len(started(searched)) == begun == 6
    assert {r["experiment"] for r in out["runs"]} == {r["experiment"] for r in first["runs"]}


def test_a_search_that_was_interrupted_tries_the_same_points(searched, capsys, monkeypatch, tmp_path_factory) -> None:
    whole = sweep(capsys)[1]
    order = [t.index for t in told(home(searched))]
    for folder in (searched / "runs", searched / ".rldsl"):
        folder.rename(tmp_path_factory.mktemp("aside") / folder.name)
    tell, seen = search.Search._told, []

    def interrupted(self, outcome, number, total):
        seen.append(outcome)
        if len(seen) == 4:
            raise KeyboardInterrupt
        tell(self, outcome, number, total)

    monkeypatch.setattr(search.Search, "_told", interrupted)
    assert main(["sweep", "tiny.rl", "--jobs", "1"]) == 3
    monkeypatch.setattr(search.Search, "_told", tell)
    capsys.readouterr()
    assert [t.index for t in told(home(searched))] == order[:1]
    code, out = sweep(capsys)
    assert code == 0 and [t.index for t in told(home(searched))] == order
    assert {r["experiment"] for r in out["runs"]} == {r["experiment"] for r in whole["runs"]}
    assert len(set(started(searched))) == 6, "no experiment has two folders"


def test_a_point_that_falls_behind_ends_with_all_of_its_seeds(searched, capsys, monkeypatch) -> None:
    monkeypatch.setattr("rldsl.experiments.execute.strategy_of", lambda _: InOrder(level=0.06))
    code, out = sweep(capsys)
    by_point = {}
    for r in out["runs"]:
        by_point.setdefault(r["points"][0], []).append(r["status"])
    # after 5 of 20 batches the points are at a quarter of their level: 0.025, 0.05, 0.075
    assert code == 0 and by_point == {"p001": ["PRUNED"] * 2, "p002": ["PRUNED"] * 2, "p003": ["FINISHED"] * 2}
    assert [t.state for t in told(home(searched))] == [ENDED, ENDED, COMPLETE]
    found = {e.status for e in entries(searched) if e.folder.name in {Path(r["folder"]).name for r in out["runs"]
                                                                      if r["status"] == "PRUNED"}}
    assert found == {"KILLED"}, "its runs say truly that they were ended"
    begun = len(started(searched))
    code, out = sweep(capsys)
    assert code == 0 and len(started(searched)) == begun
    assert sorted(r["status"] for r in out["runs"]) == ["PRUNED"] * 4 + ["REUSED"] * 2


def test_one_seed_alone_ends_nothing(searched, capsys, monkeypatch) -> None:
    """With one process the second seed begins when the first is finished: there is no mean before that."""
    strategy = InOrder(level=0.06)
    seen = []
    monkeypatch.setattr(strategy, "behind", lambda told, curve: seen.append(dict(curve)) or
                        InOrder(0.06).behind(told, curve))
    monkeypatch.setattr("rldsl.experiments.execute.strategy_of", lambda _: strategy)
    assert main(["sweep", "tiny.rl", "--jobs", "1"]) == 0
    assert {} in seen and all(len(c) <= 20 for c in seen)
    capsys.readouterr()
    first = next(entries(searched))
    assert first.seed == 1 and first.status == "FINISHED" and told(home(searched))[0].state == ENDED


def test_trials_that_fail_are_no_trials_to_build_on_but_count(searched, capsys) -> None:
    (searched / "behave.json").write_text(json.dumps({"p001": "fail", **{f"p00{i}": i / 10 for i in range(2, 6)}}))
    code, out = sweep(capsys)
    trials = told(home(searched))
    assert code == 3 and trials[0].state == FAILED and len(trials) == 3
    assert [r["status"] for r in out["runs"]].count("FAILED") == 2


def test_the_report_has_the_points_that_were_tried(searched, capsys) -> None:
    sweep(capsys)
    assert main(["report", "s", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["report"]["sections"][0]["rows"]
    assert len(rows) == 3 and all(r["score"] for r in rows)
    assert main(["report", "s"]) == 0 and "optuna(3" in capsys.readouterr().out


def test_a_dry_run_says_how_much_is_tried(searched, capsys) -> None:
    code, out = sweep(capsys, "--dry-run")
    assert code == 0 and out["expansion"]["trials"] == 3 and out["expansion"]["cost"]["batches"] == 3 * 2 * 2
    frozen = read_expansion(Path(out["expansion"]["file"]))
    assert frozen.space == (Line(("gate.high",), 5, False),) and frozen.metric == "reward/mean"
    assert read_expansion(Path(out["expansion"]["file"])) == replace(frozen) and not started(searched)


@pytest.mark.parametrize("line, code, told_", [
    ("search: optuna", "RL205", "trials"), ("search: optuna(0)", "RL204", "at least 1"),
    ("search: optna(3)", "RL201", "optuna"), ("search: 3", "RL203", "search"),
    ("search: optuna(3, patience: 4)", "RL208", "prune: median"), ("serch: optuna(3)", "RL201", "search"),
    ("search: optuna(3, sampler: grid)", "RL203", "tpe"), ("search: optuna(3)\nsearch: optuna(4)", "RL110", "twice"),
    ('search: optuna(3, metric: "held_out/scroe")', "RL410", "held_out/score")])
def test_wrong_searches(searched, capsys, line, code, told_) -> None:
    text = (searched / "tiny.rl").read_text()
    (searched / "tiny.rl").write_text(text.replace('search: optuna(3, startup: 1, metric: "reward/mean")', line))
    assert main(["sweep", "tiny.rl", "--format", "json"]) in (1, 4)
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    errors = [d for d in found if d["severity"] == "error"]
    assert [d["code"] for d in errors] == [code] and told_ in f"{errors[0]['message']} {errors[0]['fix']}", errors
    assert not started(searched)


@pytest.mark.parametrize("seeds, prune, warned", [("1..1", "median", True), ("1..2", "median", False),
                                                  ("1..1", "none", False)])
def test_ending_trials_by_one_seed_is_warned_of(searched, capsys, seeds, prune, warned) -> None:
    text = (searched / "tiny.rl").read_text().replace("in 1..2", f"in {seeds}")
    (searched / "tiny.rl").write_text(text.replace('metric: "reward/mean"', f"prune: {prune}"))
    assert main(["sweep", "tiny.rl", "--dry-run", "--format", "json"]) == 0
    found = [d for d in json.loads(capsys.readouterr().out)["diagnostics"] if d["code"] == "RL511"]
    assert [d["severity"] for d in found] == ["warning"] * warned


def test_without_the_package_it_says_what_to_install(searched, capsys, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert main(["sweep", "tiny.rl"]) == 4
    err = capsys.readouterr().err
    assert "RL407" in err and "rldsl[search]" in err and not started(searched)
