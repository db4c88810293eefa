"""Structured sampling on the embedded backend: what the policy did not sample is context, and the rest is its own."""

from __future__ import annotations

from itertools import groupby

import pytest

from rldsl.runtime.executor import make_batch, phases
from rldsl.runtime.stages_data import cutting

from .test_learning import opened

STEPS = "| steps(every: 2)"
TAUGHT = ', teachers: ["toy:llama-1x32"]'
SHAPES = [("tree(2, 3, max_tokens: 6) " + STEPS, "tree_group", ""),
          ("vine(2, n: 2, max_tokens: 6) " + STEPS, "vine", ""),
          ("branch(4, start: 2, weight: 1.0, window: 1, max_tokens: 6) " + STEPS, "group_mean | shared_mean", ""),
          ("replay_prefix(at: pivot, n: 4, max_tokens: 6, probes: 2) " + STEPS, "group_mean", ""),
          ("group(4, max_tokens: 6) | prefix(from: teacher, tokens: 2)", "group_mean", TAUGHT)]
each = pytest.mark.parametrize("sampling, advantage, model", SHAPES, ids=[s.split("(")[0] for s, *_ in SHAPES])
CONTEXT = SHAPES[3:]


def run_of(tmp_path, sampling, advantage, model):
    return opened(tmp_path, feedback='format(".*[aeiou].*")', sampling=sampling, advantage=advantage, gate="none",
                  reduction="token_mean", model=model)


def by_group(rows):
    return [list(found) for _, found in groupby(rows, key=lambda t: t.group)]


def sampled(run):
    return make_batch(run, phases(run.graph)[0], 0)


@each
def test_recorded_log_probs_are_those_of_the_training_forward(sampling, advantage, model, tmp_path):
    with run_of(tmp_path, sampling, advantage, model) as run:
        rows = sampled(run).rows()
        again = run.trainer.logprobs("current", rows, ["logp_current"], cutting(run.graph.node("update")))
        recorded = [x for t in rows for x in t.logps]
        assert again["logp_current"].tolist() == pytest.approx(recorded, abs=1e-5)


@each
def test_the_same_seed_grows_the_same_responses(sampling, advantage, model, tmp_path):
    found = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        with run_of(tmp_path / name, sampling, advantage, model) as run:
            found.append([(t.key, t.prompt, t.tokens) for t in sampled(run).trajectories])
    assert found[0] == found[1] and found[0]


@pytest.mark.parametrize("sampling, advantage, model", CONTEXT, ids=["replay_prefix", "prefix"])
def test_a_beginning_is_shared_context_and_no_action_token(sampling, advantage, model, tmp_path):
    with run_of(tmp_path, sampling, advantage, model) as run:
        work, longer = sampled(run), 0
        for rows in by_group(work.rows()):
            (prompt,) = {t.prompt for t in rows}
            asked = run.data.tokens(rows[0].row)
            assert prompt[:len(asked)] == asked
            longer += len(prompt) > len(asked)
        assert longer
        assert len(work.table.columns["logp_rollout"].data) == sum(len(t.tokens) for t in work.rows())
