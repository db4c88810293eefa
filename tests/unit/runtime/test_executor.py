"""The executor runs the plan's graph and nothing else; batches, groups and updates are cut as the language says."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from rldsl.runtime.errors import RunError
from rldsl.runtime.executor import execute
from rldsl.runtime.stages_data import require_groups
from rldsl.runtime.trajectory import Request, Trajectory

from .fakes import events, plan_of, reads, run_of

ALTERNATE = lambda request, sibling: "yes" if sibling % 2 == 0 else "no"  # noqa: E731
KEEP = "group(4, max_tokens: 4) | keep(mixed, max_rounds: 3)"


def run(tmp_path, answer=ALTERNATE, sets=(), axes=(), **options):
    made = run_of(plan_of(tmp_path, *sets, **dict(axes)), tmp_path / "run", answer, **options)
    execute(made)
    return made


def test_every_batch_is_cut_by_whole_prompts_into_updates(tmp_path) -> None:
    made = run(tmp_path)
    assert len(made.rollout.jobs) == 3 * 2
    for first, second in zip(made.rollout.jobs[::2], made.rollout.jobs[1::2], strict=True):
        groups = Counter(r.group for r in (*first.rows, *second.rows))
        assert set(groups.values()) == {4} and len(groups) == 4
        assert not {r.group for r in first.rows} & {r.group for r in second.rows}
    assert [e.data["step"] for e in events(made, "step")] == [1, 2, 3]
    assert made.rollout.version == 3


def test_constants_are_fixed_over_the_batch_and_weights_over_the_update(tmp_path) -> None:
    made = run(tmp_path)
    job = made.rollout.jobs[0]
    by_text = {r.text: a for r, a in zip(job.rows, made.rollout.math.take(reads(job, "advantage"), _starts(job)),
                                         strict=True)}
    assert by_text == {"yes": 0.5, "no": -0.5}
    assert sum(reads(job, "weight")) == pytest.approx(1.0)


def _starts(job) -> list[int]:
    ends = [sum(job.batch.lengths[:i]) for i in range(len(job.rows))]
    return ends


@pytest.mark.parametrize("gone, missing", [
    ("publish", lambda r: r.rollout.version == 0),
    ("checkpoint", lambda r: not r.checkpoints.exists()),
    ("update", lambda r: not r.rollout.jobs),
    ("evaluate", lambda r: not events(r, "evaluate")),
])
def test_a_node_that_is_not_in_the_graph_does_not_run(tmp_path, gone: str, missing) -> None:
    plan = plan_of(tmp_path, "evaluate.every=1")
    whole = run_of(plan, tmp_path / "whole", ALTERNATE)
    execute(whole)
    assert not missing(whole)
    part = run_of(plan, tmp_path / "part", ALTERNATE, graph=plan.graph.without([gone]))
    execute(part)
    assert missing(part)


def test_log_probs_are_computed_only_where_the_graph_has_them(tmp_path) -> None:
    two = run(tmp_path)
    assert ("old", 16) in two.rollout.asked
    one = run_of(plan_of(tmp_path, "optim.updates_per_batch=1"), tmp_path / "one", ALTERNATE)
    execute(one)
    assert {who for who, _ in one.rollout.asked} == {"sample"}


def test_evaluation_before_the_first_and_after_the_last_batch(tmp_path) -> None:
    made = run(tmp_path)
    found = events(made, "evaluate")
    assert [e.data["step"] for e in found] == [0, 2, 3]
    assert found[0].data["metrics"] == {"held_out/score": 1.0, "held_out/toy:copy": 1.0, "held_out/unscored": 0.0}


def test_a_response_without_a_score_leaves_every_statistic(tmp_path) -> None:
    texts = ["yes", "?", "no", "?"]
    made = run(tmp_path, lambda r, s: texts[s], steps=1)
    rows = [r for job in made.rollout.jobs for r in job.rows]
    assert Counter(r.text for r in rows) == {"yes": 4, "no": 4}
    metrics = events(made, "step")[0].data["metrics"]
    assert metrics["responses/unscored"] == 0.5 and metrics["correct/mean"] == 0.5


def test_a_group_cut_to_one_contributes_nothing_and_is_counted(tmp_path) -> None:
    texts = ["yes", "?", "?", "?"]
    made = run(tmp_path, lambda r, s: texts[s], steps=1)
    assert all(set(reads(job, "advantage")) == {0.0} for job in made.rollout.jobs)
    assert events(made, "step")[0].data["metrics"]["groups/reduced_to_one"] == 4


def test_a_batch_without_any_score_trains_nothing_and_says_so(tmp_path) -> None:
    made = run(tmp_path, lambda r, s: "?", steps=2)
    assert not made.rollout.jobs
    assert [e.data["code"] for e in events(made, "warning")] == ["RL603", "RL603"]
    fates = [fate for e in events(made, "step") for *_, fate in e.data["prompts"]]
    assert fates == ["unscored"] * 8


def test_filters_keep_whole_groups_and_refill(tmp_path) -> None:
    def answer(request: Request, sibling: int) -> str:
        return "yes" if request.group % 2 or sibling == 0 else "no"

    made = run(tmp_path, answer, axes={"sampling": KEEP}, steps=1, problems=64)
    rows = Counter(r.group for job in made.rollout.jobs for r in job.rows)
    assert len(rows) == 4 and set(rows.values()) == {4} and not any(g % 2 for g in rows)
    metrics = events(made, "step")[0].data["metrics"]
    assert metrics["groups/kept"] == 4 and metrics["groups/generated"] > 4


def test_refill_ends_with_what_was_wrong(tmp_path) -> None:
    made = run_of(plan_of(tmp_path, sampling=KEEP), tmp_path / "run", lambda r, s: "no")
    with pytest.raises(RunError) as caught:
        execute(made)
    said = caught.value.diagnostic
    assert said.code == "RL611" and said.message == "0 of 12 groups kept in 3 rounds, 4 are needed"
    assert "100% failed throughout" in said.why


def test_a_short_batch_where_the_recipe_allows_it(tmp_path) -> None:
    stage = "group(4, max_tokens: 4) | keep(mixed, max_rounds: 3, exhausted: short_batch)"
    made = run(tmp_path, lambda r, s: "yes" if s or r.group != 2 else "no", axes={"sampling": stage}, steps=1)
    assert {r.group for job in made.rollout.jobs for r in job.rows} == {2}
    assert sum(reads(made.rollout.jobs[0], "weight")) == pytest.approx(1.0)


def test_prompts_of_groups_beyond_the_batch_are_drawn_again(tmp_path) -> None:
    def answer(request: Request, sibling: int) -> str:
        return "no" if sibling or request.group < 3 else "yes"

    made = run(tmp_path, answer, axes={"sampling": KEEP}, steps=4, problems=32)
    fates = Counter((epoch, row) for e in events(made, "step") for epoch, row, _ in e.data["prompts"])
    assert set(fates.values()) == {1}
    assert sum(f == "trained" for e in events(made, "step") for *_, f in e.data["prompts"]) == 16


def test_every_prompt_of_an_epoch_is_trained_once(tmp_path) -> None:
    made = run(tmp_path, steps=16, problems=32)
    fates = Counter((epoch, row) for e in events(made, "step") for epoch, row, fate in e.data["prompts"]
                    if fate == "trained")
    assert set(fates) == {(epoch, row) for epoch in (0, 1) for row in range(32)} and set(fates.values()) == {1}


def test_a_push_that_changes_nothing_is_an_error(tmp_path) -> None:
    """C-025: after a non-zero gradient."""
    made = run_of(plan_of(tmp_path), tmp_path / "run", ALTERNATE)
    made.trainer.publish = lambda: "the same"
    made.fingerprint = "the same"
    with pytest.raises(RunError) as caught:
        execute(made)
    assert caught.value.diagnostic.code == "RL602"


def test_a_score_that_is_not_finite_stops_before_any_update(tmp_path) -> None:
    plan = plan_of(tmp_path)
    broken = replace(plan.objective, advantage=plan.objective.advantage / 0.0)
    made = run_of(replace(plan, objective=broken), tmp_path / "run", ALTERNATE)
    with pytest.raises(RunError) as caught:
        execute(made)
    said = caught.value.diagnostic
    assert said.code == "RL601" and said.message.startswith("advantage is not finite in 16 of 16")
    assert not made.rollout.jobs


def response(group: int, sibling: int, prompt=(1,)) -> Trajectory:
    return Trajectory(group, sibling, 0, prompt, (5,), (0.0,), (0,), "stop", "")


@pytest.mark.parametrize("found, says", [
    ([response(0, 0)], "group 0 has 1 responses where 2"),
    ([response(0, 0), response(1, 0)], "group 0 has 1 responses"),
    ([response(0, 0), response(0, 0)], "attached to other prompts"),
    ([response(0, 0), response(0, 1, (2,))], "attached to other prompts"),
])
def test_a_group_that_is_not_what_was_asked_for_is_fatal(found, says: str) -> None:
    with pytest.raises(RunError, match="RL610") as caught:
        require_groups([Request(0, 0, (1,), 2)], found)
    assert says in caught.value.diagnostic.message


def test_the_critic_alone_trains_while_it_warms_up(tmp_path) -> None:
    made = run(tmp_path, axes={"advantage": "gae"}, critic_warmup=2)
    assert [(j.policy, j.critic) for j in made.rollout.jobs] == [(False, True)] * 4 + [(True, True)] * 2
    assert ("values", 16) in made.rollout.asked
    assert "critic/explained_variance" in events(made, "step")[0].data["metrics"]


def test_epochs_repeat_the_cutting_in_another_order(tmp_path) -> None:
    made = run(tmp_path, sets=["optim.epochs=2"], steps=1)
    jobs = [sorted({r.group for r in j.rows}) for j in made.rollout.jobs]
    assert len(jobs) == 4 and sorted(jobs[0] + jobs[1]) == sorted(jobs[2] + jobs[3]) == [0, 1, 2, 3]
