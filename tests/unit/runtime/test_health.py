"""Detectors in a run: what they remember, when they speak, and what stops."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from rldsl.algebra.evaluate import Value
from rldsl.algebra.expr import RESPONSE, TOKEN, UPDATE
from rldsl.axes.discover import find, names
from rldsl.cli.main import main
from rldsl.compiler.resolve import resolve
from rldsl.diagnostics import RecipeError
from rldsl.runtime.batch import Batch, PlainMath
from rldsl.runtime.errors import RunError
from rldsl.runtime.executor import execute
from rldsl.runtime.health import watch, watching
from rldsl.runtime.information import information
from rldsl.runtime.observed import observe

from .fakes import AXES, BLOCKS, events, plan_of, run_of

STILL = {"advantage/zero": 1.0, "responses/truncated": 1.0, "reward/mean": 0.0}


def spoken(detectors, history) -> list[str]:
    states, said = {}, []
    for metrics in history:
        states, found = watch(detectors, states, metrics, 256)
        said += [f"{d.code} {d.severity}" for d in found]
    return said


def test_silence_is_named_once_while_it_lasts_and_again_when_it_comes_back() -> None:
    every = watching(())
    assert spoken(every, [STILL] * 12) == ["RL613 warning", "RL614 warning"]
    alive = {**STILL, "advantage/zero": 0.5, "responses/truncated": 0.1}
    assert spoken(every, [*[STILL] * 5, alive, *[STILL] * 5]) == ["RL613 warning", "RL614 warning"] * 2
    _, found = watch(every, {"no_signal": {"streak": 4}}, STILL, 256)
    assert found[0].why == "all responses are cut at the limit"


def test_a_healthy_run_hears_nothing() -> None:
    history = [{"advantage/zero": 0.3, "responses/truncated": 0.02, "reward/mean": 0.1 + i / 60,
                "correct/mean": 0.1 + i / 60, "entropy/sampled": 1.5 * 0.96 ** i, "reward/spread": 0.45,
                "prompts/information": 0.1 + i / 300,
                "responses/length": 100.0 + 3 * i, "gated": 0.05, "correction/zero": 0.001, "mismatch/tail": 0.002,
                "staleness/max": 2.0, "critic/explained_variance": -0.1 + i / 20,
                **({"held_out/score": 0.05 + i / 60} if i % 5 == 0 else {})} for i in range(50)]
    assert spoken(watching(()), history) == []


def test_what_the_recipe_writes_replaces_the_defaults_of_that_detector_alone() -> None:
    own = find("detector", "clip_share")(above=0.1, patience=2, then="stop")
    every = watching([own])
    assert own in every and {d.name for d in every} == set(names("detector"))
    assert spoken(every, [{"gated": 0.2}] * 5) == ["RL615 error"]
    off = find("detector", "clip_share")(then="ignore")
    assert spoken(watching([off]), [{"gated": 0.9}] * 9) == []


def test_the_state_survives_a_checkpoint() -> None:
    every, whole, cut = watching(()), {}, {}
    history = [{"entropy/sampled": 1.0 if i < 5 else 0.01, "reward/spread": 0.5} for i in range(20)]
    for metrics in history:
        whole, one = watch(every, whole, metrics, 256)
        cut, two = watch(every, json.loads(json.dumps(cut)), metrics, 256)
        assert one == two and whole == cut


def test_a_run_is_stopped_where_its_recipe_says_so(tmp_path) -> None:
    plan = plan_of(tmp_path, "health=no_signal(patience: 2, then: stop)")
    run = run_of(plan, tmp_path / "run", lambda r, s: "no", steps=9)
    run.detectors = watching([find("detector", "no_signal")(patience=2, then="stop")])
    with pytest.raises(RunError) as caught:
        execute(run)
    said = caught.value.diagnostic
    assert (said.code, said.severity) == ("RL613", "error") and said.message.startswith("no_signal: 100%")
    assert run.progress.batch == 2 and not events(run, "warning")


def test_held_out_scores_are_compared_with_the_batch_that_follows_them(tmp_path) -> None:
    """The policy answers training prompts rightly and held-out ones never: batches 3, 5, 7 follow an evaluation."""
    def answer(request, sibling) -> str:
        return "no" if request.siblings == 1 or (run.progress.batch >= 6 and sibling) else "yes"

    plan = plan_of(tmp_path, "evaluate.every=2", sampling="group(4, max_tokens: 4)")
    run = run_of(plan, tmp_path / "run", answer, steps=12)
    seen = []
    run.detectors = [find("detector", "reward_gap")(patience=3)]
    execute(run)
    seen = run.progress.health["reward_gap"]
    assert [b["held_out/score"] for b in seen["last"]] == [0.0, 0.0, 0.0] and len(seen["first"]) == 3
    assert [b["reward/mean"] for b in seen["first"]] == [1.0, 1.0, 1.0]


def recipe(tmp_path, health: str, **axes: str) -> str:
    file = tmp_path / "h.rl"
    written = "\n".join(f"{axis} = {text}" for axis, text in {**AXES, **axes}.items())
    file.write_text(f"recipe h {{\n{written}\n{BLOCKS}health {{ {health} }}\n}}\n")
    return str(file)


def test_thresholds_are_read_overridden_and_inherited(tmp_path) -> None:
    file = recipe(tmp_path, "clip_share(above: 10%), truncation(then: ignore)")
    made = resolve(file, sets=["health.clip_share.above=20%", "health.clip_share.patience=3"])
    assert {d.name: d for d in made.settings.health.detectors}["clip_share"] == find("detector", "clip_share")(
        above=0.2, patience=3)
    assert [o.value for o in made.origins["health.clip_share.above"]][-1] == "20%"


@pytest.mark.parametrize("health, code, told", [
    ("blind_critic(below: 0.1)", "RL208", "an advantage that learns a value function"),
    ("lora_rounding", "RL208", "optim.lora_rank"),
    ("blind_critic", "RL208", "an advantage that learns a value function"),
    ("clip_share(above: 10%, then: ignore)", "RL208", "then: warn or stop"),
    ("clip_share(above: 120%)", "RL204", "at most 1"), ("clip_share(over: 10%)", "RL205", "above"),
    ("clip_shares", "RL201", "clip_share"), ("clip_share, clip_share", "RL110", "stands twice"),
    ("patience: 3", "RL201", "no setting"),
])
def test_what_is_wrong_or_unread_is_told(tmp_path, health: str, code: str, told: str) -> None:
    with pytest.raises(RecipeError) as caught:
        resolve(recipe(tmp_path, health))
    assert [d.code for d in caught.value.diagnostics] == [code]
    said = caught.value.diagnostics[0]
    assert told in f"{said.message} {said.fix}" and said.labels[0].span.line > 1


def test_what_watches_is_no_other_experiment(tmp_path, capsys) -> None:
    plain, watched = (resolve(recipe(tmp_path, text)) for text in ("clip_share", "clip_share(above: 1%, then: stop)"))
    from rldsl.compiler.fingerprint import fingerprints

    assert fingerprints(plain) == fingerprints(watched)
    assert main(["explain", "detector.clip_share"]) == 0 and "above" in capsys.readouterr().out


TWO = [0, 0, 0, 0, 1, 1, 1, 1]


def test_information_is_what_the_prompt_tells_of_a_token() -> None:
    apart = [[1, 1]] * 4 + [[2, 2]] * 4
    alike = [[1, 2]] * 8
    # dealt out at random, two kinds of responses still differ a little between two prompts: that is taken off
    assert 0.5 < information(TWO, apart, "s") <= 1.0
    assert information(TWO, alike, "s") == 0.0 and information(TWO, [[1]] * 8, "s") == 0.0
    assert information([0, 1, 2], [[1], [2], [3]], "s") is None and information([0] * 4, [[1]] * 4, "s") is None
    many = [i // 8 for i in range(256)]
    random_tokens = [[(i * 7919 + t * 104729) % 13 for t in range(6)] for i in range(256)]
    assert abs(information(many, random_tokens, "s")) < 0.05


def test_what_detectors_read_is_what_its_definition_says() -> None:
    """Two groups of two one-token responses: one group without spread, one token sampled at a third of π_old."""
    old = [math.log(p) for p in (0.5, 0.5, 0.3, 0.9)]
    rollout = [math.log(p) for p in (0.5, 0.45, 0.1, 0.9)]
    one = {"advantage": [0.0, 0.0, 1.0, -1.0], "correction": [1.0, 0.0, 1.0, 1.0], "logp_old": old,
           "logp_rollout": rollout, "versions": [3.0, 4.0, 5.0, 5.0]}
    columns = {name: Value(TOKEN, values) for name, values in one.items()}
    columns |= {name: Value(RESPONSE, [1.0, 1.0, 1.0, 0.0]) for name in ("scores", "reward")}
    batch = Batch.of([1] * 4, [0, 0, 1, 1], columns | {"trainer_version": Value(UPDATE, [5.0])}, PlainMath())
    found = observe(batch, 2, rewarded=True)
    assert found["advantage/zero"] == 0.5 and found["correction/zero"] == 0.25 and found["kappa/tail"] == 0.25
    assert found["reward/spread"] == pytest.approx(math.sqrt(3) / 4)
    assert found["entropy/sampled"] == pytest.approx(-sum(rollout) / 4) and found["staleness/max"] == 2.0
    assert "advantage/zero" not in observe(batch, 2, rewarded=False)
    stored = replace(batch, columns={k: v for k, v in batch.columns.items() if k != "logp_rollout"})
    assert not {"kappa/tail", "entropy/sampled"} & observe(stored, 2, rewarded=True).keys()
