"""What rules prevent, shown with the rule switched off: the objective is built without checking."""

import math

import pytest

from tests.probing import probe_of, row

from .sample_choices import sample_choices  # noqa: F401

OLD, NOW = (0.5, 0.5), (0.8, 0.2)
"""Probabilities of two one-token answers: of the policy that made the data, and of the one after an update."""
REWARDS = (1.0, 0.0)


def data():
    """Ten samples that show the old policy's frequencies exactly."""
    return [row(1.0, reward=REWARDS[a], prompt=f"p{i}", logp_current=[math.log(NOW[a])], logp_old=[math.log(OLD[a])],
                logp_rollout=[math.log(OLD[a])]) for i, a in enumerate([0] * 5 + [1] * 5)]


def slope(ratio):
    """d objective / d z, where z is the logit of the first answer: from the gradients by log-prob."""
    out = probe_of(data(), ratio=ratio, sampling="single(max_tokens: 1)", advantage="monte_carlo")
    steps = [1 - NOW[0]] * 5 + [-NOW[0]] * 5
    return -sum(r["gradient"][0] * step for r, step in zip(out["responses"], steps, strict=True))


TRUE = NOW[0] * (1 - NOW[0])
"""d/dz of the expected reward, which is the first answer's probability."""


def test_rl311_a_second_update_without_a_ratio_has_a_biased_gradient():
    assert slope("token(current / old)") == pytest.approx(TRUE, abs=1e-12)
    assert slope("none") == pytest.approx(0.1, abs=1e-12)
    assert TRUE == pytest.approx(0.16)


def test_rl311_the_bias_can_turn_the_gradient_round():
    """With a baseline-free reward for both answers the true gradient is 0, and the uncorrected one is not."""
    rewards = [{**r, "reward": 1.0} for r in data()]
    found = {}
    for ratio in ("token(current / old)", "none"):
        out = probe_of(rewards, ratio=ratio, sampling="single(max_tokens: 1)", advantage="monte_carlo")
        steps = [1 - NOW[0]] * 5 + [-NOW[0]] * 5
        found[ratio] = -sum(r["gradient"][0] * s for r, s in zip(out["responses"], steps, strict=True))
    assert found["token(current / old)"] == pytest.approx(0.0, abs=1e-12)
    assert found["none"] == pytest.approx(-0.3, abs=1e-12)


def test_rl301_alone_nothing_is_learned():
    batch = [row(1.0, reward=r, prompt=f"p{i}") for i, r in enumerate((1.0, 0.0, 5.0))]
    out = probe_of(batch, sampling="single(max_tokens: 4)", advantage="group_norm")
    assert [r["advantage"] for r in out["responses"]] == [[0.0]] * 3
    assert [r["gradient"] for r in out["responses"]] == [[0.0]] * 3


def test_rl309_kappa_enters_squared():
    batch = [row(1.0, reward=1.0, logp_rollout=[-1.5])]
    kappa = math.exp(0.5)
    once = probe_of(batch, ratio="token(current / rollout)", distribution="on_policy")
    twice = probe_of(batch, ratio="token(current / rollout)", distribution="tis(9)")
    assert once["responses"][0]["gradient"][0] == pytest.approx(-kappa)
    assert twice["responses"][0]["gradient"][0] == pytest.approx(-kappa**2)


def test_rl312_truncated_sampling_has_a_ratio_of_nine_tenths_at_equal_weights():
    full, kept = [0.6, 0.3, 0.1], [0.6 / 0.9, 0.3 / 0.9]
    batch = [row(1.0, reward=1.0, logp_current=[math.log(full[a])], logp_old=[math.log(full[a])],
                 logp_rollout=[math.log(kept[a])]) for a in (0, 1)]
    out = probe_of(batch, ratio="token(current / rollout)")
    assert [r["ratio"][0] for r in out["responses"]] == pytest.approx([0.9, 0.9])


def test_rl314_the_tokens_own_advantages_are_averaged_away():
    batch = [row(1.0, 1.0, 1.0, reward=1.0, values=[0.0, 0.9, 0.1])]
    several = dict(sampling="single(max_tokens: 4)", advantage="gae(lambda: 0)", reduction="response_mean")
    token = probe_of(batch, ratio="token(current / old)", **several)["responses"][0]
    sequence = probe_of(batch, ratio="sequence(current / old)", **several)["responses"][0]
    assert token["advantage"] == sequence["advantage"] == pytest.approx([0.9, -0.8, 0.9])
    assert token["gradient"] == pytest.approx([-0.3, 0.8 / 3, -0.3])
    assert sequence["gradient"] == pytest.approx([-1 / 9] * 3)


def test_rl505_responses_weigh_by_their_length():
    batch = [row(1.0, 1.0, reward=1.0), row(1.0, 1.0, 1.0, 1.0, reward=-1.0)]
    losses = {reduction: probe_of(batch, ratio="sequence(current / old)", reduction=reduction)["loss"]
              for reduction in ("token_mean", "response_mean", "sequence_mean")}
    assert losses == {"token_mean": pytest.approx(2 / 6), "response_mean": pytest.approx(0.0),
                      "sequence_mean": pytest.approx(0.0)}


def test_rl315_per_token_and_per_response_are_other_weights():
    batch = [row(1.0, 1.0, reward=1.0, logp_rollout=[-1.0 - math.log(1.5)] * 2)]
    several = dict(ratio="sequence(current / old)", reduction="sequence_mean")
    found = [probe_of(batch, distribution=f"tis(9, grain: {grain})", **several)["responses"][0]["correction"]
             for grain in ("token", "product", "geometric")]
    assert found == [pytest.approx([x] * 2) for x in (1.5, 2.25, 1.5)]


def penalised(estimator):
    """d penalty / d z of the first answer's logit, over samples that show the current policy's own frequencies; the
    reference finds both answers equally likely."""
    rows = [row(1.0, reward=0.0, prompt=f"p{i}", logp_current=[math.log(NOW[a])], logp_old=[math.log(NOW[a])],
                logp_ref=[math.log(OLD[a])]) for i, a in enumerate([0] * 8 + [1] * 2)]
    out = probe_of(rows, ratio="none", gate=f"none + kl(1, estimator: {estimator})",
                   sampling="single(max_tokens: 1)")
    steps = [1 - NOW[0]] * 8 + [-NOW[0]] * 2
    return sum(r["gradient"][0] * step for r, step in zip(out["responses"], steps, strict=True))


def test_rl518_the_value_is_right_and_the_gradient_is_zero():
    slope_of_kl = TRUE * (math.log(NOW[0] / OLD[0]) - math.log(NOW[1] / OLD[1]))
    assert penalised("k1") == pytest.approx(0.0, abs=1e-12)
    assert penalised("k2") == pytest.approx(slope_of_kl)


def test_rl332_who_compacts_once_weighs_twice_as_much(sample_choices):  # noqa: F811
    batch = [row(*[1.0] * 4, reward=1.0, prompt=str(i), segments=segments)
             for i, segments in enumerate(([0, 0, 0, 0], [0, 0, 1, 1]))]
    say = {}
    for reduction in ("per_segment", "response_mean"):
        out = probe_of(batch, sampling="turns(8, max_tokens: 4) | compaction", reduction=reduction)
        say[reduction] = [sum(r["gradient"]) for r in out["responses"]]
    assert say["per_segment"] == pytest.approx([-1 / 3, -2 / 3])
    assert say["response_mean"] == pytest.approx([-1 / 2, -1 / 2])


def test_rl507_solved_groups_make_the_step_smaller():
    open_group = [row(1.0, reward=r, prompt="a") for r in (1.0, 0.0)]
    solved = [row(1.0, reward=1.0, prompt=f"b{i}") for i in range(3) for _ in range(2)]
    several = dict(sampling="group(2, max_tokens: 1)", advantage="group_mean")
    steps = {rule: probe_of(open_group + solved, reduction=f"token_mean(uniform_groups: {rule})", **several)
             ["responses"][0]["gradient"][0] for rule in ("count", "exclude")}
    assert steps["exclude"] == pytest.approx(4 * steps["count"])


def test_rl508_a_hard_prompt_weighs_more():
    hard, even = ([row(1.0, reward=float(i < right), prompt=str(right)) for i in range(8)] for right in (1, 4))
    several = dict(sampling="group(8, max_tokens: 1)")
    divided = probe_of(hard + even, advantage="group_norm(eps: 0)", **several)["responses"]
    plain = probe_of(hard + even, advantage="group_mean", **several)["responses"]
    gain = [d["advantage"][0] / p["advantage"][0] for d, p in zip(divided, plain, strict=True)]
    assert gain[0] / gain[8] == pytest.approx(1.512, abs=1e-3)


def test_rl334_a_bound_below_the_least_age_leaves_nothing():
    """Under a schedule that samples one batch ahead, every token of the second batch is one version old."""
    behind = [{**r, "versions": [9]} for r in data()]
    for bound, left in (("max_lag(0)", 0), ("max_lag(1)", 10), ("off_policy_share(0.5)", 0)):
        out = probe_of(behind, trainer_version=10, distribution=bound, sampling="single(max_tokens: 1)")
        assert sum(r["kept"] for r in out["responses"]) == left, bound
    masked = probe_of(behind, trainer_version=10, distribution="mask_stale(0)", sampling="single(max_tokens: 1)")
    assert not any(g for r in masked["responses"] for g in r["gradient"])


def test_rl335_without_a_reward_nothing_has_a_gradient():
    """The sources of `0 * verify(…)` are 0 whatever they scored; so is an advantage that is none."""
    nothing = [{**r, "reward": 0.0} for r in data()]
    for rows, advantage in ((nothing, "batch_mean"), (nothing, "monte_carlo"), (data(), "none")):
        out = probe_of(rows, advantage=advantage, gate="clip(0.2)", sampling="single(max_tokens: 1)")
        assert not any(g for r in out["responses"] for g in r["gradient"])
    imitated = probe_of(data(), advantage="none", gate="none + positive_nll(1.0)", sampling="single(max_tokens: 1)")
    assert any(g for r in imitated["responses"] for g in r["gradient"])


def test_rl210_the_weight_that_wins_is_the_corrections():
    """`on_policy` says weight 1, and beside a correction the token has another one."""
    sampled = [{**r, "logp_rollout": [x - math.log(1.5) for x in r["logp_old"]]} for r in data()]
    out = probe_of(sampled, distribution="on_policy + tis(2.0)", sampling="single(max_tokens: 1)")
    assert [r["correction"][0] for r in out["responses"]] == pytest.approx([1.5] * 10)
