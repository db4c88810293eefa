"""Equal bits are checked on every batch: the run ends before a step is taken on one that has them not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rldsl.runtime.errors import RunError
from rldsl.runtime.executor import execute

from .fakes import events, plan_of, run_of

ALTERNATE = lambda request, sibling: "yes" if sibling % 2 == 0 else "no"  # noqa: E731


def made(tmp_path, distribution, *sets):
    return run_of(plan_of(tmp_path, *sets, distribution=distribution), tmp_path / "run", ALTERNATE)


def off(run, tokens: int):
    """The trainer's log-probs of so many tokens of a batch are off by a bit."""
    whole = run.trainer.logprobs

    def logprobs(policy, rows, wants, options):
        found = whole(policy, rows, wants, options)
        return {name: [x + 2**-24 * (t < tokens) for t, x in enumerate(column)] for name, column in found.items()}

    run.trainer.logprobs = logprobs
    return run


@pytest.mark.parametrize("updates", [1, 2])
def test_a_batch_that_differs_in_a_bit_ends_the_run(tmp_path, updates):
    """Also where one update a batch leaves no column of the log-probs that it starts from."""
    run = off(made(tmp_path, "on_policy + bitwise", f"optim.updates_per_batch={updates}"), 3)
    with pytest.raises(RunError, match=r"RL620 .* of 3 of 40 tokens of batch 0 \(7\.5%\).* difference is 6\.0e-08"):
        execute(run)
    assert not run.rollout.jobs and not events(run, "step")


@pytest.mark.parametrize("updates", [1, 2])
def test_equal_bits_go_on(tmp_path, updates):
    run = made(tmp_path, "on_policy + bitwise", f"optim.updates_per_batch={updates}")
    execute(run)
    assert len(events(run, "step")) == 3 and ("current" in dict(run.trainer.asked)) == (updates == 1)


def test_nobody_asked(tmp_path):
    run = off(made(tmp_path, "on_policy"), 3)
    execute(run)
    assert len(events(run, "step")) == 3


def test_tokens_of_older_weights_are_another_policys(tmp_path):
    run = off(made(tmp_path, "on_policy + bitwise"), 5)
    fresh = run.rollout.sample

    def older(requests, options, **how):
        rows = fresh(requests, options, **how)
        return [replace(rows[0], versions=(-1,) * len(rows[0].tokens)), *rows[1:]]

    run.rollout.sample = older
    with pytest.raises(RunError, match=r"RL620 .* of 2 of 37 tokens"):
        execute(run)
