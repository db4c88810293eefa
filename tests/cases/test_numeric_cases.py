"""Numbers that once hurt somebody: each test is named after its public report's id and gives the stated result."""

from __future__ import annotations

import math
import random

import pytest

from rldsl.algebra.evaluate import Value
from rldsl.algebra.expr import TOKEN
from rldsl.compiler.objective import build
from rldsl.runtime.batch import Batch, PlainMath
from rldsl.runtime.settle import weigh
from tests.probing import advantages, probe_of, recipe_of, row

GROUP4 = "group(4, max_tokens: 64)"
GROUP2 = "group(2, max_tokens: 64)"
close = lambda x: pytest.approx(x, rel=1e-6, abs=1e-9)  # noqa: E731


def gradients(out):
    return [g for r in out["responses"] if r["kept"] for g in r["gradient"]]


def test_c003_a_loss_of_zero_can_be_healthy_or_empty():
    healthy = probe_of([row(1.0, reward=r) for r in (1, 0, 1, 0)], sampling=GROUP4, advantage="group_norm",
                       reduction="response_mean")
    assert healthy["loss"] == 0.0 and any(g != 0 for g in gradients(healthy))
    empty = probe_of([row(1.0, reward=1.0)] * 4, sampling=GROUP4, advantage="group_norm", reduction="response_mean")
    assert gradients(empty) == [0.0] * 4 and [r["advantage"] for r in empty["responses"]] == [[0.0]] * 4


def test_c004_one_denominator_over_the_whole_update():
    rows = [row(1.0, reward=1.0, prompt="a"), row(1.0, 1.0, 1.0, reward=-1.0, prompt="b")]
    assert probe_of(rows, reduction="token_mean")["loss"] == close(0.5)
    long = [row(*[1.0] * 100, reward=2.0, prompt="a"), row(*[1.0] * 900, reward=0.5, prompt="b")]
    assert probe_of(long, reduction="token_mean")["objective"] == close(0.65)


def test_c012_leave_one_out():
    assert advantages([1, 0, 0, 0], sampling=GROUP4, advantage="rloo") == close([1, -1 / 3, -1 / 3, -1 / 3])
    assert advantages([1, None], sampling=GROUP2, advantage="rloo") == [0.0, None]


@pytest.mark.parametrize("std, found", [("none", [0.75, -0.25, -0.25, -0.25]), ("sample", [1.5, -0.5, -0.5, -0.5])])
def test_c008_without_a_spread_rewards_are_centred_only(std, found):
    advantage = "group_mean" if std == "none" else f"group_norm(std: {std}, eps: 0)"
    assert advantages([1, 0, 0, 0], sampling=GROUP4, advantage=advantage) == close(found)


def test_c014_siblings_share_a_baseline():
    centred = advantages([1, 0, 1, 0], sampling=GROUP4, advantage="group_mean")
    assert centred == close([0.5, -0.5, 0.5, -0.5])
    norm = advantages([1, 0, 1, 0], sampling=GROUP4, advantage="group_norm(std: sample, eps: 0)")
    assert norm == close([0.8660254, -0.8660254, 0.8660254, -0.8660254])


def test_c016_a_sequence_ratio_is_not_weighted_by_length_under_sequence_mean():
    rows = [row(1.0, 1.0, reward=1.0, prompt="a"), row(1.0, 1.0, 1.0, 1.0, reward=-1.0, prompt="b")]
    out = probe_of(rows, ratio="sequence(current / old)", reduction="sequence_mean")
    assert out["loss"] == close(0.0)


def test_c040_a_row_without_a_score_is_not_a_zero():
    assert advantages([1, None, 0, None], sampling=GROUP4, advantage="group_mean") == [0.5, None, -0.5, None]
    assert advantages([1, None, None, None], sampling=GROUP4, advantage="group_norm") == [0.0, None, None, None]
    out = probe_of([row(1.0, reward=r) for r in (1, None, 0, None)], sampling=GROUP4, advantage="group_mean",
                   reduction="token_mean")
    assert out["responses"][0]["weight"] == [0.5]


@pytest.mark.parametrize("rewards, kept", [([1, 0, 0, 0], True), ([1, 1, 1, 0], True), ([0, 0, 0, 0], False)])
def test_c041_filters_take_whole_groups_whatever_the_estimator(rewards, kept):
    for advantage in ("rloo", "group_norm", "group_mean"):
        out = probe_of([row(1.0, reward=r) for r in rewards], sampling=f"{GROUP4} | keep(mixed)", advantage=advantage)
        assert [r["kept"] for r in out["responses"]] == [kept] * 4


def test_c041_a_filter_looks_at_correctness_before_shaping():
    """All correct, of different lengths: shaping tells them apart, correctness does not."""
    rows = [row(*[1.0] * n, reward=1.0) for n in (1, 2, 3, 4)]
    out = probe_of(rows, sampling=f"{GROUP4} | keep(mixed)", advantage="group_mean",
                   feedback="verify(exact) + overlong(max: 4, buffer: 3)")
    assert [r["reward"] for r in out["responses"]] == close([1.0, 2 / 3, 1 / 3, 0.0])
    assert not any(r["kept"] for r in out["responses"])


@pytest.mark.parametrize("choice, per_row", [("count", 0.25), ("exclude", 0.5)])
def test_c042_uniform_groups_stay_in_or_leave_the_denominator(choice, per_row):
    rows = [row(1.0, reward=r, prompt=p) for r, p in ((1, "a"), (-1, "a"), (0, "b"), (0, "b"))]
    for reduction in ("token_mean", "response_mean", "sequence_sum"):
        out = probe_of(rows, sampling=GROUP2, advantage="group_mean",
                       reduction=f"{reduction}(uniform_groups: {choice})")
        assert [abs(g) for g in gradients(out)] == close([per_row, per_row, 0, 0])


def test_c044_identity_comes_from_the_label_not_from_content():
    rows = [row(1.0, reward=0.0, prompt="g0")] * 16 + [row(1.0, reward=1.0, prompt="g1")] * 16
    out = probe_of(rows, sampling="group(16, max_tokens: 64)", advantage="rloo")
    assert all(r["advantage"] == [0.0] for r in out["responses"])


def test_c045_group_and_batch_statistics_are_different_names():
    rows = [row(1.0, reward=r, prompt=p) for r, p in ((1, "a"), (0, "a"), (10, "b"), (8, "b"))]
    group = probe_of(rows, sampling=GROUP2, advantage="group_mean")["responses"]
    batch = probe_of(rows, sampling=GROUP2, advantage="batch_mean")["responses"]
    assert [r["advantage"][0] for r in group] == close([0.5, -0.5, 1, -1])
    assert [r["advantage"][0] for r in batch] == close([-3.75, -4.75, 5.25, 3.25])


def test_c046_advantages_do_not_depend_on_the_order_of_rows():
    draw = random.Random(7)
    rows = [row(1.0, draw.uniform(0.7, 1.4), reward=draw.random(), prompt=f"g{i % 4}") for i in range(16)]
    axes = dict(sampling=GROUP4, advantage="group_norm", gate="clip(0.2)", reduction="token_mean")
    plain, order = probe_of(rows, **axes), draw.sample(range(16), 16)
    mixed = probe_of([rows[i] for i in order], **axes)
    for place, i in enumerate(order):
        assert mixed["responses"][place]["advantage"] == plain["responses"][i]["advantage"]
        assert mixed["responses"][place]["gradient"] == close(plain["responses"][i]["gradient"])


def test_c049_a_masked_response_leaves_numerator_and_denominator():
    rows = [row(1.0, 1.0, 1.0, 1.0, reward=1.0, prompt="a"),
            row(1.0, 1.0, 1.0, 1.0, reward=1.0, prompt="b", truncated=True)]
    out = probe_of(rows, feedback="verify(exact) + drop_truncated", reduction="token_mean")
    assert (out["responses"][0]["weight"], out["responses"][1]["kept"]) == ([0.25] * 4, False)
    none_left = probe_of([r | {"truncated": True} for r in rows], feedback="verify(exact) + drop_truncated",
                         reduction="token_mean")
    assert none_left["loss"] == 0.0 and gradients(none_left) == []


def test_c054_a_gate_on_a_recomputed_ratio_does_nothing():
    stale = row(1.5, reward=1.0)
    behaviour = probe_of([stale], ratio="token(current / rollout)", gate="cispo(1, high: 0.28)")
    assert -gradients(behaviour)[0] == close(1.28)
    recomputed = stale | {"logp_old": stale["logp_current"]}
    assert -gradients(probe_of([recomputed], gate="cispo(1, high: 0.28)"))[0] == close(1.0)


@pytest.mark.parametrize("gate", ["none", "clip(0.2)", "cispo(1, high: 0.2)", "double_sided(0.3, 5)"])
def test_c056_the_correction_is_a_constant_outside_every_gate(gate):
    rows = [row(1.1, reward=1.0) | {"logp_rollout": [-1.0 - math.log(5)]}]
    plain = probe_of(rows, gate=gate)
    corrected = probe_of(rows, gate=gate, distribution="tis(2.0)")
    assert corrected["responses"][0]["correction"] == [2.0]
    assert gradients(corrected) == close([2 * g for g in gradients(plain)])


@pytest.mark.parametrize("d, value", [(math.log(2), 0.30685), (200.0, None), (-200.0, None)])
def test_c073_the_exponential_estimator_stays_finite(d, value):
    out = probe_of([row(1.0, logp_ref=[-1.0 + d])], gate="none + kl(1.0, estimator: k3)")
    assert math.isfinite(out["terms"]["kl"]) and math.isfinite(gradients(out)[0])
    if value is not None:
        assert -out["terms"]["kl"] == pytest.approx(value, rel=1e-4)


def test_c083_gae_runs_over_action_tokens_only():
    """Only action tokens are in the batch: values of observations and padding cannot leak in."""
    out = probe_of([row(1.0, 1.0, reward=1.0, values=[0.0, 0.0])], advantage="gae(gamma: 1, lambda: 0.95)")
    assert out["responses"][0]["advantage"] == close([0.95, 1.0])
    out = probe_of([row(1.0, 1.0, reward=1.0, values=[0.0, 0.0])], advantage="gae(gamma: 1, lambda: 0.5)")
    assert out["responses"][0]["advantage"] == close([0.5, 1.0])


def test_c089_a_rollout_in_three_parts_counts_once():
    """Two rollouts, one of them cut into three segments: each has half of the say."""
    rows = [row(1.0, 1.0, 1.0, reward=1.0, prompt="a") | {"segments": [0, 1, 2]},
            row(1.0, reward=1.0, prompt="b") | {"segments": [0]}]
    for reduction in ("response_mean", "sequence_mean"):
        ratio = "sequence(current / old)" if reduction == "sequence_mean" else "token(current / old)"
        out = probe_of(rows, reduction=reduction, ratio=ratio)["responses"]
        assert [sum(r["weight"]) for r in out] == close([0.5, 0.5])


def test_c090_dual_clip_reaches_the_loss():
    ten = [row(10.0, reward=-1.0)]
    assert probe_of(ten, gate="clip(0.2, dual: 3)")["loss"] == close(3.0)
    assert probe_of(ten, gate="clip(0.2)")["loss"] == close(10.0)


def test_overlong_of_the_reports():
    for length, reward in ((80, 0.0), (90, -0.5), (100, -1.0)):
        out = probe_of([row(*[1.0] * length)], sampling="single(max_tokens: 100)",
                       feedback="verify(exact) + overlong(max: 100, buffer: 20)")
        assert out["responses"][0]["reward"] == close(reward)


def test_c050_what_is_chosen_over_the_whole_update_does_not_depend_on_the_split():
    """2 of 8 tokens, the same ones wherever they stand; a split comes after the whole is evaluated."""
    numbers = [(4.0, -1.0), (3.0, -1.2), (-1.0, -3.0), (-1.0, -2.9), (-1.0, -2.0), (-1.0, -2.0),
               (-1.5, -2.0), (-1.5, -2.0)]
    rows = [row(1.0, reward=a, logp_current=[x], logp_old=[x]) for a, x in numbers]
    gate = "clip_cov(fraction: 0.25, band: 0.1..20.0)"
    chosen = [g == 0 for g in gradients(probe_of(rows, gate=gate))]
    assert chosen == [True, True, False, False, False, False, False, False]
    moved = [g == 0 for g in gradients(probe_of(rows[4:] + rows[:4], gate=gate))]
    assert moved == chosen[4:] + chosen[:4]


def test_c051_product_and_geometric_mean_are_different_things():
    numbers = {"logp_current": [-1.0, -1.0], "logp_old": [-1.1, -1.3]}
    one = [row(1.0, 1.0, reward=1.0) | numbers]
    for ratio, value in (("trajectory(current / old)", 1.4918), ("sequence(current / old)", 1.2214)):
        assert probe_of(one, ratio=ratio)["responses"][0]["ratio"] == pytest.approx([value, value], rel=1e-4)


def test_c081_whitening_is_over_the_whole_batch():
    """Also where the batch is cut elsewhere, and where a part of it is empty."""
    rows = [row(1.0, reward=r) for r in (1, 1, -1, 3)]
    out = probe_of(rows, advantage="monte_carlo | whiten(eps: 1e-12)")["responses"]
    assert [r["advantage"][0] for r in out] == pytest.approx([0, 0, -1.4142, 1.4142], abs=1e-4)


def test_a_dropped_token_may_leave_the_denominators():
    """One effective mask for numerator and denominator, whatever the reduction; a response may vanish altogether."""
    rows = [row(1.0, 1.0, reward=1.0) | {"logp_rollout": [-1.0, -3.0]}, row(1.0, 1.0, reward=1.0),
            row(1.0, reward=1.0) | {"logp_rollout": [-3.0]}]
    expected = {"token_mean": ([1 / 3, 0.0], [1 / 3, 1 / 3], [0.0]), "response_mean": ([0.5, 0.0], [0.25, 0.25], [0.0]),
                "sequence_sum": ([0.5, 0.0], [0.5, 0.5], [0.0]), "longest": ([0.25, 0.0], [0.25, 0.25], [0.0])}
    for reduction, weights in expected.items():
        out = probe_of(rows, reduction=reduction, distribution="mis(0.5..2.0, denominator: kept)")["responses"]
        assert [r["weight"] for r in out] == [pytest.approx(w) for w in weights], reduction
    gone = probe_of(rows[2:], reduction="response_mean", distribution="mis(0.5..2.0, denominator: kept)")
    assert gone["objective"] == 0.0 and gradients(gone) == [0.0]


def test_c048_no_weight_no_total():
    """There is no denominator to fall back on: a term cannot be added up before the whole update was weighed."""
    objective = build(recipe_of(reduction="token_mean"))
    batch = Batch.of([2], [0], {n: Value(TOKEN, [-1.0, -1.0]) for n in ("logp_current", "logp_old", "advantage")},
                     PlainMath()).with_columns(correction=Value(TOKEN, [1.0, 1.0]))
    with pytest.raises(KeyError, match="weight"):
        batch.value(objective.terms()[0].expr)
    assert weigh(objective, batch).value(objective.terms()[0].expr).data == [-1.0]


def test_c095_one_mask_and_true_lengths():
    """A truncated response leaves the loss as a whole; the lengths that others read stay what they were."""
    rows = [row(1.0, 1.0, 1.0, reward=1.0, truncated=True), row(1.0, reward=0.0), row(1.0, 1.0, reward=1.0)]
    axes = dict(feedback="verify(exact) + length_penalty(1.0, over: all) + drop_truncated", reduction="token_mean",
                sampling="group(3, max_tokens: 8)", advantage="group_mean")
    out = probe_of(rows, **axes)
    assert [r["kept"] for r in out["responses"]] == [False, True, True]
    assert [w for r in out["responses"] if r["kept"] for w in r["weight"]] == close([1 / 3] * 3)
    rewards = [r["reward"] for r in probe_of([r | {"truncated": False} for r in rows], **axes)["responses"]]
    assert [r["reward"] for r in out["responses"]] == close(rewards)  # lengths 3, 1 and 2, masked or not
