"""What running runs must do in cases that once hurt somebody, without a model; named after the public report's id.

Told elsewhere: runs whose engines answer one by one `test_live_cases.py` (C-007, C-037, C-061, C-074); C-020
`tests/bad_input/test_model_folders.py`; C-030 and C-074 `tests/bad_input/test_scorers.py`; C-038, C-080 and C-099
`tests/unit/runtime/test_tracking*.py`; C-078 `tests/unit/runtime/test_small_parts.py`; what takes several processes, as
C-033, C-058 and C-063, `tests/cluster`.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from rldsl.runtime import checkpoint
from rldsl.runtime.errors import RunError
from rldsl.runtime.executor import execute
from rldsl.runtime.journal import kept_events, read_journal
from rldsl.runtime.run import Progress
from rldsl.runtime.scoring import ScoreResult
from rldsl.runtime.trajectory import Request, Trajectory
from tests.unit.runtime.fakes import FakeEngine, FakeProblem, events, plan_of, reads, run_of

ALTERNATE = lambda request, sibling: "yes" if sibling % 2 == 0 else "no"  # noqa: E731
KEEP = "group(4, max_tokens: 4) | keep(mixed, max_rounds: 3, exhausted: {})"


def run(tmp_path, answer=ALTERNATE, sets=(), axes=(), **options):
    made = run_of(plan_of(tmp_path, *sets, **dict(axes)), tmp_path / "run", answer, **options)
    execute(made)
    return made


def step(made, index: int = 0) -> dict[str, float]:
    return events(made, "step")[index].data["metrics"]


def test_c013_a_missing_score_of_one_source_leaves_all_advantages_finite(tmp_path) -> None:
    """Two sources over a group of four, [1, 0, none, 0] and [1, 1, 0, 0]: the third response leaves."""
    made = run_of(plan_of(tmp_path, feedback='verify(exact) + format("a", reward: 1)'), tmp_path / "run", ALTERNATE,
                  steps=1)
    first, second = [1.0, 0.0, None, 0.0], [1.0, 1.0, 0.0, 0.0]
    made.score = lambda items: [[ScoreResult(v, None if v is not None else "none", 0.0)
                                 for v in (first[i % 4], second[i % 4])] for i in range(len(items))]
    execute(made)
    found = {round(a, 6) for job in made.trainer.jobs for a in reads(job, "advantage")}
    assert found == {1.0, 0.0, -1.0} and step(made)["responses/unscored"] == 0.25


def test_c013_a_number_that_is_not_finite_names_tensor_rows_and_stage_and_steps_nowhere(tmp_path) -> None:
    plan = plan_of(tmp_path)
    broken = replace(plan.objective, advantage=plan.objective.advantage / 0.0)
    made = run_of(replace(plan, objective=broken), tmp_path / "run", ALTERNATE)
    before = made.trainer.weights
    with pytest.raises(RunError) as caught:
        execute(made)
    said = caught.value.diagnostic
    assert said.code == "RL601" and "advantage" in said.message and "(stage: advantage)" in said.message
    assert "0.0" in said.why and "no optimizer step" in said.why
    assert made.trainer.weights == before and not made.trainer.jobs


def test_c003_batches_without_a_signal_are_counted_at_once_and_warned_of(tmp_path) -> None:
    """[1, 1, 1, 1] teaches nothing: said after five batches. [1, 0, 1, 0] does, though its loss is 0 as well."""
    still = run(tmp_path, lambda r, s: "yes", steps=6)
    assert step(still)["groups/uniform"] == 1.0 and step(still)["advantage/zero"] == 1.0
    assert [e.data["code"] for e in events(still, "warning")] == ["RL613"]
    assert all(a == 0 for job in still.trainer.jobs for a in reads(job, "advantage"))
    alive = run_of(plan_of(tmp_path), tmp_path / "alive", ALTERNATE, steps=6)
    execute(alive)
    assert step(alive)["groups/uniform"] == 0.0 and events(alive, "warning") == []


def test_c012_a_group_reduced_to_one_is_counted_and_teaches_nothing(tmp_path) -> None:
    made = run(tmp_path, lambda r, s: "?" if (r.group, s) == (0, 1) else ALTERNATE(r, s), steps=1,
               axes={"sampling": "group(2, max_tokens: 4)", "advantage": "rloo"})
    assert step(made)["groups/reduced_to_one"] == 1
    found = {row.group: set() for job in made.trainer.jobs for row in job.rows}
    for job in made.trainer.jobs:
        owners = [row.group for row in job.rows for _ in row.tokens]
        for group, a in zip(owners, reads(job, "advantage"), strict=True):
            found[group].add(a)
    assert found.pop(0) == {0.0} and all(a == {1.0, -1.0} for a in found.values())


def test_c014_labels_that_break_a_group_up_are_fatal(tmp_path) -> None:
    """Every response a group of its own: nothing would be compared, so nothing is trained."""
    made = run_of(plan_of(tmp_path), tmp_path / "run", ALTERNATE)
    honest = made.rollout.sample

    def unique(requests, options, **more):
        return [replace(t, group=100 + i, sibling=0) for i, t in enumerate(honest(requests, options, **more))]

    made.rollout.sample = unique
    with pytest.raises(RunError, match="RL610"):
        execute(made)
    assert not made.trainer.jobs


def test_c028_answers_that_are_cut_are_counted_at_once_and_warned_of(tmp_path) -> None:
    made = run(tmp_path, lambda r, s: "x" * 300, steps=6, axes={"sampling": "group(4, max_tokens: 256)"})
    assert step(made)["responses/truncated"] == 1.0
    found = {e.data["code"]: e.data for e in events(made, "warning")}
    assert "max_tokens: 256" in found["RL614"]["message"] and "max_tokens" in found["RL614"]["fix"]
    assert found["RL613"]["why"] == "all responses are cut at the limit"


def test_c030_one_row_in_eight_without_a_score_costs_itself_only(tmp_path) -> None:
    made = run(tmp_path, lambda r, s: "?" if (r.group, s) == (0, 0) else ALTERNATE(r, s), steps=1,
               axes={"sampling": "group(2, max_tokens: 4)"})
    assert step(made)["responses/unscored"] == 1 / 8
    assert sum(len(job.rows) for job in made.trainer.jobs) == 7


@pytest.mark.parametrize("moment", range(0, 26, 2))
def test_c037_each_prompt_is_trained_once_in_an_epoch_whenever_the_run_is_killed(tmp_path, moment: int) -> None:
    """Eight prompts, two a batch, half of the rounds refilled; killed at a moment and resumed from its checkpoint."""
    def answer(request: Request, sibling: int) -> str:
        return "no" if sibling or request.group % 3 == 0 else "yes"

    def made(folder: Path):
        plan = plan_of(tmp_path, "data.prompts=2", sampling=KEEP.format("short_batch"))
        found = run_of(plan, folder, answer, problems=8, steps=3, prompts=2)
        return replace(found, graph=found.graph.change("checkpoint", options={"every": 1}))

    whole = made(tmp_path / "whole")
    execute(whole)
    killed, left = made(tmp_path / "killed"), moment

    def die(kind, data) -> None:
        nonlocal left
        left -= kind == "doing"
        if left < 0:
            raise KeyboardInterrupt

    killed.observe = die
    with pytest.raises(KeyboardInterrupt):
        execute(killed)
    resumed = made(tmp_path / "killed")
    if (found := checkpoint.newest(resumed.checkpoints)) is not None:
        resumed.trainer.load(found.folder, found.state["version"])
        resumed.progress, resumed.fresh = Progress.from_json(found.state["progress"]), False
        resumed.fingerprint = found.state["fingerprint"]
    resumed.record("resume", step=found.step if found else -1)
    execute(resumed)
    assert fates(resumed) == fates(whole)
    assert max(Counter((epoch, row) for epoch, row, _ in fates(whole)).values()) == 1


def fates(made) -> list[tuple]:
    """What became of every prompt, in order, in the run as it finally went."""
    kept = kept_events(read_journal(made.folder))
    return [tuple(p) for e in kept if e.kind == "step" for p in e.data["prompts"]]


def test_c043_refill_stops_after_its_rounds_with_the_shares(tmp_path) -> None:
    made = run_of(plan_of(tmp_path, sampling=KEEP.format("error")), tmp_path / "run", lambda r, s: "no")
    with pytest.raises(RunError) as caught:
        execute(made)
    assert caught.value.diagnostic.message == "0 of 12 groups kept in 3 rounds, 4 are needed"
    assert "100% failed throughout" in caught.value.diagnostic.why


def test_c043_a_short_batch_counts_what_is_there(tmp_path) -> None:
    kept = {0, 5, 9}
    made = run(tmp_path, lambda r, s: "yes" if r.group in kept and not s else "no", steps=1,
               sets=["optim.updates_per_batch=1"], axes={"sampling": KEEP.format("short_batch")})
    (job,) = made.trainer.jobs
    assert {r.group for r in job.rows} == kept and step(made)["groups/kept"] == 3
    assert reads(job, "weight") == pytest.approx([1 / sum(job.batch.lengths)] * sum(job.batch.lengths))


class Straddling(FakeEngine):
    """Its weights went from version 7 to 8 while each response was being sampled, after token 57 of 128."""

    def sample(self, requests, options, *, batch, greedy=False):
        self.version = 8
        stamps = (7,) * 57 + (8,) * 71
        return [replace(t, versions=stamps) for t in super().sample(requests, options, batch=batch, greedy=greedy)]


def test_c060_a_version_is_stamped_on_every_token_when_it_is_sampled(tmp_path) -> None:
    made = run_of(plan_of(tmp_path, sampling="group(4, max_tokens: 128)"), tmp_path / "run",
                  lambda r, s: "y" * 128 if s else "n" * 128, steps=1)
    made.rollout = made.trainer = Straddling(made.trainer.answer)
    execute(made)
    stamps = [Counter(reads(job, "versions")) for job in made.trainer.jobs]
    rows = sum(len(job.rows) for job in made.trainer.jobs)
    assert sum(stamps, Counter()) == {7.0: 57 * rows, 8.0: 71 * rows}
    assert step(made)["staleness/max"] == step(made)["staleness/mean"] == 1.0


def test_c070_shaping_is_part_of_the_reward_wherever_scores_come_from(tmp_path) -> None:
    """Scores come back in one piece or in pieces, in one order or another: the punished responses are the same."""
    def answer(request: Request, sibling: int) -> str:
        return "y" * (80 + 10 * (sibling % 3))

    axes = {"feedback": "verify(exact) + overlong(max: 100, buffer: 20)", "sampling": "group(4, max_tokens: 100)"}
    inline = run(tmp_path, answer, axes=axes, steps=1)
    batched = run_of(plan_of(tmp_path, **axes), tmp_path / "batched", answer, steps=1)
    whole = batched.score
    batched.score = lambda items: [whole([item])[0] for item in items]
    execute(batched)
    rewards = [[reads(job, "reward") for job in made.trainer.jobs] for made in (inline, batched)]
    assert rewards[0] == rewards[1]
    assert sorted({r for job in rewards[0] for r in job}) == [-1.0, -0.5, 0.0]
    assert step(inline)["reward/shaped"] == pytest.approx(-0.375) and step(inline)["reward/mean"] == 0.0


def test_c087_every_completion_comes_back_to_its_own_prompt(tmp_path) -> None:
    """An engine that answers with its prompt's number, four at a time, over prompts of uneven length."""
    made = run_of(plan_of(tmp_path), tmp_path / "run", lambda r, s: bytes(r.prompt).decode()[1:], steps=4)
    source = [FakeProblem("p" + "0" * (i % 3) + str(i), "0" * (i % 3) + str(i)) for i in range(32)]
    made.data = replace(made.data, source=source)
    execute(made)
    assert [s["reward/mean"] for s in (step(made, i) for i in range(4))] == [1.0] * 4


def test_c087_a_completion_on_another_prompt_is_fatal(tmp_path) -> None:
    made = run_of(plan_of(tmp_path), tmp_path / "run", ALTERNATE)
    honest = made.rollout.sample

    def swapped(requests, options, **more):
        found = honest(requests, options, **more)
        return [replace(t, prompt=u.prompt) for t, u in zip(found, reversed(found), strict=True)]

    made.rollout.sample = swapped
    with pytest.raises(RunError, match="RL610"):
        execute(made)
    assert not made.trainer.jobs


def test_c089_a_rollouts_rows_stay_in_one_update_and_none_is_lost(tmp_path) -> None:
    """Three groups survive where two updates were planned for four: both are trained, of two and of one group."""
    made = run(tmp_path, lambda r, s: "yes" if r.group < 3 and not s else "no", steps=1,
               axes={"sampling": KEEP.format("short_batch")})
    parts = [Counter(r.group for r in job.rows) for job in made.trainer.jobs]
    assert sorted(len(p) for p in parts) == [1, 2] and set().union(*parts) == {0, 1, 2}
    assert all(set(p.values()) == {4} for p in parts)


def test_c094_log_probs_and_tokens_of_a_response_agree_in_number() -> None:
    """A forced prefix belongs to the prompt: 5 sampled tokens have 5 log-probs, and 8 are refused."""
    five = dict(group=0, sibling=0, row=0, prompt=(1, 2, 3), tokens=(4,) * 5, versions=(0,) * 5, finish="stop", text="")
    assert len(Trajectory(logps=(-1.0,) * 5, **five).logps) == 5
    with pytest.raises(ValueError, match="5 tokens, 8 log-probs"):
        Trajectory(logps=(-1.0,) * 8, **five)


def test_c098_a_batch_without_rows_is_no_step(tmp_path) -> None:
    made = run(tmp_path, lambda r, s: "?", steps=1, axes={"advantage": "gae"})
    assert not made.trainer.jobs and [e.data["code"] for e in events(made, "warning")] == ["RL603"]
    assert all(math.isfinite(x) for x in step(made).values())
