"""Rewards that need more than a score: greedy baselines, failures, vetoes, terms whose weight changes."""

from rldsl.algebra.evaluate import evaluate
from rldsl.algebra.layout import layout
from rldsl.runtime.executor import execute

from .fakes import FakeEngine, events, plan_of, reads, run_of, score

# ── greedy baselines ─────────────────────────────────────────────────────────────────────────────────

REMAX = {"sampling": "greedy_baseline(max_tokens: 4)", "advantage": "remax", "ratio": "none", "gate": "none",
         "reduction": "sequence_sum"}


class Greedy(FakeEngine):
    """Answers "no" when it samples; greedy, what `likeliest` says."""

    def sample(self, requests, options, *, batch, greedy=False):
        sampled, self.answer = self.answer, (lambda r, s: LIKELIEST[r.group % 2]) if greedy else self.answer
        try:
            return super().sample(requests, options, batch=batch)
        finally:
            self.answer = sampled


LIKELIEST = ("yes", "?")


def test_a_greedy_response_is_the_baseline_and_is_not_trained_on(tmp_path):
    """Its reward is 1 and the sampled one's 0; where it has no score, its prompt leaves."""
    run = run_of(plan_of(tmp_path, "optim.updates_per_batch=1", **REMAX), tmp_path / "run", lambda r, s: "no", steps=1)
    run.rollout = run.trainer = Greedy(lambda r, s: "no")
    execute(run)
    (job,) = run.trainer.jobs
    assert [row.text for row in job.rows] == ["no", "no"]
    assert reads(job, "greedy_reward") == [1.0, 1.0] and set(reads(job, "advantage")) == {-1.0}
    (step,) = events(run, "step")
    assert step.data["metrics"]["responses/unscored"] == 0.5


def test_the_shaping_of_the_greedy_response_counts(tmp_path):
    plan = plan_of(tmp_path, "optim.updates_per_batch=1", **REMAX | {"feedback": "verify(exact) + unfinished(0.5)"})
    run = run_of(plan, tmp_path / "run", lambda r, s: "no", steps=1)
    run.rollout = run.trainer = Greedy(lambda r, s: "no no")
    execute(run)
    assert set(reads(run.trainer.jobs[0], "advantage")) == {-0.5 - 1.0}


# ── failures of scoring ──────────────────────────────────────────────────────────────────────────────

def test_a_failure_counts_as_failed_where_the_recipe_says_so(tmp_path):
    answer = lambda r, s: "?" if s == 0 else "yes"  # noqa: E731
    plan = plan_of(tmp_path, "optim.updates_per_batch=1", feedback="verify(exact) + crash_is_failure")
    run = run_of(plan, tmp_path / "run", answer, steps=1)
    execute(run)
    (job,) = run.trainer.jobs
    assert sorted(set(reads(job, "scores"))) == [0.0, 1.0] and len(job.rows) == 16


def test_what_a_detector_finds_has_no_score_and_is_not_correct(tmp_path):
    plan = plan_of(tmp_path, feedback='verify(exact) + zero_if(format("x"))')
    shape = layout([1, 1], [0, 0])
    env = {"score.verify": [1.0, 1.0], "score.format": [1.0, 0.0]}
    assert evaluate(plan.objective.sources, env, shape).data == [0.0, 1.0]
    assert evaluate(plan.objective.correct, env, shape).data == [0.0, 1.0]


def test_an_annealed_term_fades_from_batch_to_batch(tmp_path):
    plan = plan_of(tmp_path, "optim.updates_per_batch=1", feedback="verify(exact) + anneal(unfinished(1), over: 2)")
    run = run_of(plan, tmp_path / "run", lambda r, s: "no no" if s else "no", steps=3)
    execute(run)
    assert [min(reads(job, "reward")) for job in run.trainer.jobs] == [-1.0, -0.5, 0.0]


def test_an_annealed_source_fades_too(tmp_path):
    plan = plan_of(tmp_path, "optim.updates_per_batch=1", feedback='verify(exact) + anneal(format(".*"), over: 2)')
    run = run_of(plan, tmp_path / "run", lambda r, s: "no" if s else "yes", steps=3)
    run.score = lambda items: [2 * found for found in score(items)]
    execute(run)
    assert [max(reads(job, "reward")) for job in run.trainer.jobs] == [2.0, 1.5, 1.0]


def test_a_weight_reaches_what_a_term_puts_on_tokens(tmp_path):
    plan = plan_of(tmp_path, feedback="verify(exact) + 0.5 * kl_in_reward(1)", advantage="gae")
    env = {"reward": [2.0], "last": [1.0], "logp_old": [-1.0], "logp_ref": [-3.0]}
    assert evaluate(plan.objective.token_reward, env, layout([1], [0])).data == [2.0 - 0.5 * 2.0]
