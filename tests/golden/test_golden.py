"""Every published worked number in scope, through probe."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from rldsl.algebra.evaluate import evaluate
from rldsl.algebra.layout import layout
from tests.probing import advantages, probe_of, recipe_of, row

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text())
close = lambda x: pytest.approx(x, rel=1e-5, abs=1e-9)  # noqa: E731


def cases(key):
    return [c for c in GOLDEN[key] if set(c) != {"note"}]


@pytest.mark.parametrize("case", cases("group_norm"))
def test_group_norm(case):
    found = advantages(case["rewards"], advantage=f"group_norm(eps: {case['eps']})",
                       sampling=f"group({len(case['rewards'])}, max_tokens: 64)")
    if "advantages" in case:
        assert found == close(case["advantages"])
    else:
        assert found[:2] == close(case["advantages_first_two"])


@pytest.mark.parametrize("rewards", [[1, 0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0]])
def test_sum_of_squares_of_a_mixed_binary_group(rewards):
    group, p = f"group({len(rewards)}, max_tokens: 64)", sum(rewards) / len(rewards)
    norm = advantages(rewards, advantage="group_norm(eps: 0)", sampling=group)
    mean = advantages(rewards, advantage="group_mean", sampling=group)
    assert sum(a * a for a in norm) == close(len(rewards))
    assert sum(a * a for a in mean) == close(len(rewards) * p * (1 - p))


@pytest.mark.parametrize("case", cases("group_norm_sample_std"))
def test_group_norm_sample_std(case):
    found = advantages(case["rewards"], advantage=f"group_norm(eps: {case['eps']}, std: sample)",
                       sampling="group(4, max_tokens: 64)")
    assert found == close(case["advantages"])


@pytest.mark.parametrize("case", cases("group_mean"))
def test_group_mean(case):
    assert advantages(case["rewards"], advantage="group_mean", sampling="group(8, max_tokens: 64)") == close(
        case["advantages"])


@pytest.mark.parametrize("case", cases("rloo"))
def test_rloo(case):
    assert advantages(case["rewards"], advantage="rloo", sampling="group(4, max_tokens: 64)") == close(
        case["advantages"])


@pytest.mark.parametrize("case", cases("ppo_clip"))
def test_clip(case):
    low, high = case.get("low", case.get("eps")), case.get("high", case.get("eps"))
    out = probe_of([row(case["r"], reward=case["A"])], gate=f"clip({low}, high: {high})")
    if "term" in case:
        assert out["objective"] == pytest.approx(case["term"], rel=1e-3)
    gradient = out["responses"][0]["gradient"][0]
    assert (gradient == 0) == (case["gradient"] == "zero")
    if case["gradient"] == "kept":
        assert gradient == close(-case["r"] * case["A"])


@pytest.mark.parametrize("case", cases("cispo"))
def test_cispo(case):
    out = probe_of([row(case["r"], reward=case["A"])], gate=f"cispo({case['low']}, high: {case['high']})")
    assert -out["responses"][0]["gradient"][0] == close(case["gradient_coefficient_on_logp"])


@pytest.mark.parametrize("case", cases("double_sided"))
def test_double_sided(case):
    out = probe_of([row(case["r"], reward=1.0)], gate=f"double_sided({case['low']}, {case['high']})")
    assert -out["responses"][0]["gradient"][0] == close(case["weight"])


def test_reduction_weights():
    want = GOLDEN["reduction_token_weights"]
    rows = [row(*[1.0] * n, reward=1.0) for n in want["lengths"]]
    for reduction in ("response_mean", "token_mean"):
        out = probe_of(rows, reduction=reduction)
        assert [r["weight"][0] for r in out["responses"]] == close(want[reduction])


@pytest.mark.parametrize("case", cases("overlong"))
def test_overlong(case):
    out = probe_of([row(*[1.0] * case["length"])], sampling="single(max_tokens: 40k)",
                   feedback=f"verify(exact) + overlong(max: {case['max']}, buffer: {case['buffer']})")
    assert out["responses"][0]["reward"] == close(case["reward"])


@pytest.mark.parametrize("case", cases("max_lag"))
def test_max_lag(case):
    rows = [row(1.0, 1.0, 1.0, versions=case["versions"])]
    out = probe_of(rows, trainer_version=case["trainer"], distribution=f"max_lag({case['tau']})")
    assert out["responses"][0]["kept"] == case["kept"]


@pytest.mark.parametrize("case", [c for c in cases("ratio_decomposition") if "p_rollout" in c])
def test_ratio_decomposition(case):
    numbers = {"logp_current": [math.log(case["p_current"])], "logp_old": [math.log(case["p_old"])],
               "logp_rollout": [math.log(case["p_rollout"])]}
    stale = probe_of([row(1.0, reward=1.0) | numbers], distribution="tis(100)")["responses"][0]
    whole = probe_of([row(1.0, reward=1.0) | numbers], ratio="token(current / rollout)")["responses"][0]
    assert (stale["correction"][0], stale["ratio"][0], whole["ratio"][0]) == close(
        (case["kappa"], case["r_stale"], case["r_total"]))


@pytest.mark.parametrize("case", cases("sequence_ratio"))
def test_sequence_ratio(case):
    out = probe_of([row(*case["token_ratios"], reward=1.0)], ratio="sequence(current / old)", reduction="sequence_mean")
    assert out["responses"][0]["ratio"] == close([case["sequence"]] * 3)


def test_gae_limits():
    rewards, values, gamma = 1.0, [0.3, 0.5, 0.2], 0.9
    one = [row(1.0, 1.0, 1.0, reward=rewards, values=values)]
    td = [0.9 * 0.5 - 0.3, 0.9 * 0.2 - 0.5, 1.0 - 0.2]
    assert probe_of(one, advantage=f"gae(gamma: {gamma}, lambda: 0)")["responses"][0]["advantage"] == close(td)
    returns = [gamma**2 - 0.3, gamma - 0.5, 1.0 - 0.2]
    full = probe_of(one, advantage=f"gae(gamma: {gamma}, lambda: 1)")["responses"][0]["advantage"]
    assert full == close(returns)
    assert full[0] == close(td[0] + gamma * td[1] + gamma**2 * td[2])


def test_value_differences():
    for before, after, advantage in ((0.6, 0.75, 0.15), (0.3, 0.7, 0.4)):
        out = probe_of([row(1.0, 1.0, values=[before, after])], advantage="gae(lambda: 0)")
        assert out["responses"][0]["advantage"][0] == close(advantage)


def test_clipping_cannot_reach_a_likely_token():
    """A token with π_old > 1/(1+ε) can never reach the upper clip: even at π = 1 its ratio is below 1 + ε."""
    old = 1 / 1.2
    for p_old, clipped in ((old + 1e-3, False), (old - 1e-3, True)):
        numbers = {"logp_current": [0.0], "logp_old": [math.log(p_old)]}
        out = probe_of([row(1.0, reward=1.0) | numbers], gate="clip(0.2)")
        assert (out["responses"][0]["gradient"][0] == 0) == clipped


def test_gradient_at_ratio_one_is_the_policy_gradient():
    out = probe_of([row(1.0, reward=-0.7)], gate="clip(0.2)")["responses"][0]
    assert (out["ratio"], out["gradient"]) == ([1.0], close([0.7]))


def test_a_group_of_one_says_nothing():
    case, objective = GOLDEN["single_group"], recipe_of(sampling="group(2, max_tokens: 64)", advantage="group_mean")
    shape = layout([1], [0])
    assert evaluate(objective.advantage[0].choice.estimate(), {"reward": case["rewards"]}, shape).data == case[
        "group_mean"]


def test_probability_that_a_group_is_mixed():
    """1 − p^G − (1−p)^G, and what it means for refilling: 10 % useful groups, 128 wanted → 1280 expected."""
    from itertools import product

    p, group = 0.3, 3
    chance = 0.0
    for outcome in product((1.0, 0.0), repeat=group):
        out = probe_of([row(1.0, reward=r) for r in outcome], sampling=f"group({group}, max_tokens: 64) | keep(mixed)",
                       advantage="group_mean")
        if out["responses"][0]["kept"]:
            chance += math.prod(p if r else 1 - p for r in outcome)
    assert chance == close(1 - p**group - (1 - p) ** group)


@pytest.mark.parametrize("case", cases("sapo"))
def test_sapo(case):
    out = probe_of([row(case["r"], reward=case["A"])], gate=f"sapo(tau_pos: {case['tau']}, tau_neg: {case['tau']})")
    wanted = case.get("gradient_coefficient_on_logp", -case.get("gradient_weight_times_abs_A", 0))
    assert -out["responses"][0]["gradient"][0] == close(wanted)


def test_length_does_not_turn_a_correct_response_against_itself():
    case = GOLDEN["decoupled_length"]
    rows = [row(1.0, reward=r, correct=float(c)) for r, c in zip(case["rewards"], case["correct"], strict=True)]
    group = {"sampling": "group(6, max_tokens: 64)"}
    coupled = probe_of(rows, advantage="group_mean", **group)["responses"]
    assert coupled[2]["advantage"][0] == close(case["coupled_advantage_of_third"])
    apart = [r["advantage"][0] for r in probe_of(rows, advantage="decoupled(lambda: 1)", **group)["responses"]]
    assert all(a > 0 for a in apart[:3]) and apart[0] > apart[1] > apart[2] and all(a < 0 for a in apart[3:])


@pytest.mark.parametrize("case", cases("binary_kl"))
def test_binary_kl(case):
    """A token is kept just above its divergence in both directions, and dropped just below the larger one."""
    larger = max(case["kl"], case["kl_reverse"])
    numbers = {"logp_current": [math.log(case["p_train"])], "logp_old": [math.log(case["p_train"])],
               "logp_rollout": [math.log(case["p_rollout"])]}
    for phi, kept in ((larger * 1.001, 1.0), (larger * 0.999, 0.0)):
        out = probe_of([row(1.0, reward=1.0) | numbers], distribution=f"kpop({phi:.9g})")
        assert out["responses"][0]["correction"] == [kept]


def test_mis_po_band_on_the_mean_log_ratio():
    low, high = GOLDEN["mis_po_band_on_log_mean"]
    for mean, kept in ((low * 0.999, 1.0), (low * 1.001, 0.0), (high * 0.999, 1.0), (high * 1.001, 0.0)):
        rows = [row(1.0, 1.0, reward=1.0) | {"logp_rollout": [-1.0 - mean] * 2}]
        assert probe_of(rows, distribution="mis_po")["responses"][0]["correction"] == [kept, kept]


@pytest.mark.parametrize("case", cases("gar"))
def test_quality(case):
    factors = [*case["f"], *[1.0] * (len(case["rewards"]) - len(case["f"]))]
    rows = [row(1.0, reward=r, quality=f) for r, f in zip(case["rewards"], factors, strict=True)]
    group = {"sampling": "group(4, max_tokens: 64)"}
    out = probe_of(rows, advantage="group_mean | quality", **group)["responses"]
    assert [r["advantage"][0] for r in out] == close(case["advantages"])
    assert out[0]["advantage"][0] / 0.5 == close(case["lambda"])


@pytest.mark.parametrize("case", cases("max_rl"))
def test_max_rl(case):
    found = advantages(case["rewards"], advantage="max_rl", sampling="group(8, max_tokens: 64)")
    assert [found[0], found[-1]] == close(case["advantages_first_and_last"])


@pytest.mark.parametrize("case", cases("length_adaptive_lambda"))
def test_length_adaptive_lambda(case):
    """With V = 0 a reward of 1 at the end leaves λ on the token before it."""
    rows = [row(*[1.0] * case["l"], reward=1.0, values=[0.0] * case["l"])]
    out = probe_of(rows, advantage=f"gae(lambda_actor: length_adaptive({case['alpha']}), lambda_critic: 1)",
                   sampling="single(max_tokens: 2000)")
    assert out["responses"][0]["advantage"][-2:] == pytest.approx([case["lambda"], 1.0], rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("case", cases("pass_at_k"))
def test_pass_at_k(case):
    right = case["N"] - case["N_wrong"]
    found = advantages([1.0] * right + [0.0] * case["N_wrong"], advantage=f"pass_at_k({case['k']})",
                       sampling=f"group({case['N']}, max_tokens: 64)")
    assert (found[0], found[-1]) == pytest.approx((case["A_right"], case["A_wrong"]), abs=5e-6)
