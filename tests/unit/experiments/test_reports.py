"""Ablations and their reports: what is trained, what is compared with what, and what is said of it."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from rldsl.cli.main import main
from rldsl.compiler.canonical import canonical
from rldsl.compiler.resolve import resolve
from rldsl.compiler.resolve.ablation import Options
from rldsl.diagnostics import Span
from rldsl.experiments.ablate import Ends, expand_ablation, mixed, places
from rldsl.experiments.comparison import compare
from rldsl.experiments.expansion import freeze
from rldsl.experiments.findings import evidence, limits
from rldsl.experiments.registry import folder_of
from rldsl.experiments.sweep import expand_sweep
from rldsl.grammar.tree import Name
from rldsl.runtime.journal import Journal

GOAL = """
recipe goal extends tiny {
  gate.high = 0.3
  reduction = response_mean
  optim { adamw(lr: 2e-3), epochs: 2 }
}
ablate steps from tiny to goal { order: [reduction, gate], seeds: 3 }
"""
GAINS = {"reduction": 0.0, "gate": 0.2, "optim": 0.05}
NOISE = {1: 0.0, 2: 0.013, 3: -0.011}


def expansion(project, **options):
    (project / "goal.rl").write_text((project / "tiny.rl").read_text() + GOAL)
    start, goal = (resolve("goal.rl", name) for name in ("tiny", "goal"))
    found = expand_ablation(Ends("steps", "goal.rl", start, goal), project, order=Options(**{"seeds": 3, **options}),
                            metric="held_out/score").expansion
    freeze(found, project)
    return found


def finish(project, found, score) -> None:
    """Writes journals as if every run had been made."""
    for job in found.jobs():
        folder = folder_of(project, "tiny", job.experiment, False)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "plan.json").write_text((project / job.plan).read_text())
        with Journal(folder) as journal:
            journal.append("start")
            journal.append("evaluate", step=0, metrics={"held_out/score": 0.1})
            journal.append("step", step=2, metrics={"tokens": 100.0, "step_seconds": 2.0, "updates": 2.0,
                                                    "rows_computed": 8.0, "responses/length": 5.0})
            value = score(set(found.point(job.points[0]).changed), job.seed)
            journal.append("evaluate", step=2, metrics={"held_out/score": value})
            journal.append("end", status="FINISHED")


def additive(changed, seed) -> float:
    own = {1: 1.0, 2: -1.0, 3: 0.4}[seed] * 0.01 * len(changed)
    return 0.3 + sum(GAINS[x] for x in changed) + NOISE[seed] + (own if "gate" in changed else 0.0)


def test_the_path_and_leave_one_out(project) -> None:
    found = expansion(project)
    assert found.varies == ("gate", "reduction", "optim")
    assert [p.changed for p in found.points] == [
        (), ("gate",), ("gate", "reduction"), ("gate", "reduction", "optim"), ("reduction", "optim"),
        ("gate", "optim")]
    assert len(found.jobs()) == 18 and {p.state for p in found.points} == {"ready"}


def test_points_mix_the_two_recipes_and_the_last_is_the_goal(project) -> None:
    found = expansion(project)
    old, new = (canonical(resolve("goal.rl", n)) for n in ("tiny", "goal"))
    assert places(old, new) == ("gate", "reduction", "optim")
    half = mixed(old, new, ("gate",))
    assert half["axes"]["gate"] == new["axes"]["gate"] and half["settings"]["optim"] == old["settings"]["optim"]
    assert main(["compile", "goal.rl"]) == 0
    from rldsl.compiler.compile import compile_recipe

    goal, _ = compile_recipe(resolve("goal.rl", "goal"))
    assert found.points[3].experiments["1"] == goal.fingerprints["experiment"]


def test_all_orders_are_all_subsets_and_bounded(project, capsys) -> None:
    assert len(expansion(project, every=True).points) == 8
    assert main(["ablate", "goal.rl", "--order", "all", "--seeds", "500", "--dry-run"]) == 1
    assert "2^3 = 8 points" in capsys.readouterr().err


def test_rows_are_compared_pair_by_pair(project) -> None:
    found = expansion(project)
    finish(project, found, additive)
    path, without = compare(found, project, "held_out/score").sections
    assert [r.label for r in path.rows] == ["tiny", "+ gate", "+ reduction", "+ optim"]
    assert [r.label for r in without.rows] == ["without gate", "without reduction", "without optim"]
    gate = path.rows[1]
    assert gate.against == "tiny" and gate.difference.mean == pytest.approx(0.2 + 0.01 * 0.4 / 3)
    assert gate.verdict == "yes" and gate.changes == ("gate: `high` of clip goes from 0.2 to 0.3.",)
    assert without.rows[0].difference.mean == pytest.approx(0.2 + 0.03 * 0.4 / 3)
    assert path.rows[2].verdict == "no" and path.rows[3].adjusted == without.rows[2].adjusted
    assert (gate.generated, gate.trained, gate.seconds) == (100.0, 80.0, 2.0)


def test_what_may_not_be_concluded_is_said(project) -> None:
    found = expansion(project)
    finish(project, found, additive)
    said = "\n".join(limits(compare(found, project, "held_out/score")))
    assert "No effect, in either direction, is shown for: + reduction" in said
    assert "optim changes 2 things at once" in said and "another order divides the whole differently" in said


def test_identical_scores_are_told_from_small_differences(project) -> None:
    found = expansion(project)
    finish(project, found, lambda changed, seed: 0.5)
    c = compare(found, project, "held_out/score")
    assert {r.verdict for r in c.rows()} == {"", "identical"}
    assert "nothing is learned here" in "\n".join(limits(c))


def test_the_gain_is_divided_when_all_orders_were_run(project) -> None:
    found = expansion(project, every=True)
    finish(project, found, lambda changed, seed: 0.3 + sum(GAINS[x] for x in changed) + NOISE[seed])
    gains, orders = compare(found, project, "held_out/score").attribution
    assert orders == 6 and gains == pytest.approx(GAINS)


def test_gains_are_divided_over_the_seeds_that_all_have(project) -> None:
    """A run that is missing does not put its seed's luck into the gain of a change."""
    found = expansion(project, every=True)
    finish(project, found, lambda changed, seed: 0.3 + sum(GAINS[x] for x in changed) + 10 * NOISE[seed])
    point = next(p for p in found.points if p.changed == ("gate",))
    (folder_of(project, "tiny", point.experiments["2"], False) / "journal.jsonl").unlink()
    assert compare(found, project, "held_out/score").attribution == (pytest.approx(GAINS), 6)


def test_points_that_are_one_experiment_are_one_comparison(project) -> None:
    """Values that are written twice, and settings that change no result, add neither runs nor tests."""
    text = (project / "tiny.rl").read_text().partition("\nsweep ")[0]
    (project / "tiny.rl").write_text(text + """
sweep twice of tiny {
  gate.high in [0.2, 0.3, 0.3]
  cluster.micro_tokens in [100, 200]
  seed in 1..3
}
""")
    found = expand_sweep("tiny.rl", "twice", project, metric="held_out/score").expansion
    finish(project, found, lambda _, seed: 0.3 + NOISE[seed])
    for job in found.jobs():
        if found.point(job.points[0]).values["gate.high"] == "0.3":
            with Journal(folder_of(project, "tiny", job.experiment, False)) as journal:
                journal.append("evaluate", step=2, metrics={"held_out/score": 0.5 + NOISE[(job.seed % 3) + 1]})
                journal.append("end", status="FINISHED")
    c = compare(found, project, "held_out/score")
    rows, said = c.sections[0].rows, dict(evidence(c))
    assert len(rows) == 6 and said["runs"] == "6" and said["tests"].endswith("Holm over 1 comparisons")
    assert [r.difference is None for r in rows] == [True, True, False, False, False, False]
    assert rows[2].adjusted == rows[2].difference.p and {r.adjusted for r in rows[2:]} == {rows[2].adjusted}


JUMP = """
recipe jump extends tiny {
  sampling  = single(max_tokens: 6)
  advantage = batch_norm
  gate.high = 0.3
}
"""


def test_a_difference_over_rows_without_a_score_says_so(project) -> None:
    (project / "goal.rl").write_text((project / "tiny.rl").read_text() + JUMP)
    start, goal = (resolve("goal.rl", name) for name in ("tiny", "jump"))
    order = tuple(Name(x, Span("--order", 1, 1, 1, 1)) for x in ("sampling", "advantage", "gate"))
    found = expand_ablation(Ends("jumps", "goal.rl", start, goal), project, order=Options(order=order, seeds=2),
                            metric="held_out/score").expansion
    assert [p.state for p in found.points[:4]] == ["ready", "invalid", "ready", "ready"]
    finish(project, found, lambda changed, seed: 0.3 + 0.1 * len(changed) + NOISE[seed])
    said = "\n".join(limits(compare(found, project, "held_out/score")))
    assert "+ advantage is compared with tiny" in said and "that of sampling, advantage together" in said
    assert "+ gate is compared" not in said


class Balanced(HTMLParser):
    """Counts what is opened and not closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "rect", "line", "polyline", "polygon", "circle"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_every_format(project, capsys) -> None:
    found = expansion(project)
    finish(project, found, additive)
    outputs = {}
    for form in ("terminal", "markdown", "latex", "html", "json"):
        assert main(["report", "steps", "--format", form]) == 0
        outputs[form] = capsys.readouterr().out
    assert "+ gate" in outputs["terminal"] and "yes" in outputs["terminal"]
    table = [x for x in outputs["markdown"].split("\n") if x.startswith("|")]
    assert len({line.count("|") for line in table[:6]}) == 1
    assert outputs["latex"].count(r"\begin{tabular}") == outputs["latex"].count(r"\end{tabular}") == 2
    assert r"held\_out/score" in outputs["latex"] and "_" not in outputs["latex"].replace(r"\_", "")
    page = Balanced(outputs["html"])
    assert page.open == [] and "polygon" in outputs["html"] and "does not allow to conclude" in page.text
    data = json.loads(outputs["json"])["report"]
    assert data["sections"][0]["rows"][1]["distinguishable"] == "yes" and data["seeds"] == [1, 2, 3]


def test_reports_of_what_is_not_there(project, capsys) -> None:
    assert main(["report"]) == 4
    found = expansion(project)
    assert main(["report", "stesp"]) == 4
    assert "`steps`" in capsys.readouterr().err
    finish(project, found, additive)
    assert main(["report", "steps", "--metric", "kl_exact"]) == 4
    assert main(["report", "steps", "--metric", "held_oot/score"]) == 4
    assert capsys.readouterr().err.count("RL410") == 2
    assert main(["report", "steps", "--out", str(project / "no" / "x.md")]) == 4


@pytest.mark.parametrize("text", ["", "[]", "3", '{"version": 1}', '{"version": 99}', '{"version": 1, "points": [3]}'])
def test_a_file_that_is_no_expansion(project, capsys, text) -> None:
    (project / "x.json").write_text(text)
    assert main(["report", "x.json"]) == 4 and main(["report", "nowhere.json"]) == 4
    said = capsys.readouterr().err
    assert said.count("RL407") == 2 and "No such file" in said and ("not JSON" in said or "another version" in said)
    assert "indices" not in said and "'points'" not in said and "not subscriptable" not in said


@pytest.mark.parametrize(("args", "code", "says"), [
    (["ablate", "goal.rl", "--order", "gait"], 1, "RL201"),
    (["ablate", "goal.rl", "--order", "sampling"], 1, "RL208"),
    (["ablate", "goal.rl:tiny"], 1, "RL201"),
    (["ablate", "goal.rl:tiny", "goal.rl:tiny"], 1, "RL212"),
    (["ablate", "goal.rl", "--metric", "held_oot/score"], 1, "RL410"),
    (["ablate", "goal.rl", "--set", "evaluate=none"], 4, "RL410"),
    (["ablate", "goal.rl", "--set", 'track.mlflow="http://127.0.0.1:9"'], 4, "RL409"),
    (["sweep", "goal.rl:s", "--set", 'sampling=single(max_tokens: 6)'], 1, "RL215"),
    (["sweep", "goal.rl:s", "--seeds", "2"], 1, "RL110"),
    (["sweep", "goal.rl:s", "--set", "gate.high=0.3"], 1, "RL110"),
])
def test_wrong_experiments(project, capsys, args, code, says) -> None:
    expansion(project)
    capsys.readouterr()
    found = main(args)
    err = capsys.readouterr().err
    assert says in err and "Traceback" not in err
    assert found == (4 if says == "RL410" else code)
    assert not (project / "runs").exists()


def test_runs_are_filtered_by_what_their_recipes_say(project, capsys) -> None:
    finish(project, expansion(project), additive)

    def rows(*args) -> int:
        assert main(["runs", "--format", "json", *args]) == 0
        return len(json.loads(capsys.readouterr().out)["runs"])

    assert rows() == 18 and rows("--status", "finished") == 18 and rows("--status", "failed") == 0
    assert rows("--where", "gate.high == 0.3") == 12
    assert rows("--where", "gate.high == 0.3", "--where", "optim.epochs == 2 and seed == 1") == 2
    assert rows("--where", "reduction == token_mean") == 9 and rows("--where", "gate == clip(0.2)") == 6
    assert rows("--fingerprint", "zz") == 0 and rows("--metric", "kl_exact") == 18
    assert main(["runs", "--metric", "held_oot/score"]) == 4
    assert "Did you mean `held_out/score`" in capsys.readouterr().err
    assert main(["runs", "--where", "gate.hihg == 1"]) == 1 and main(["runs", "--where", "gate =="]) == 1
    assert "RL207" in capsys.readouterr().err
