"""What probe takes beside plain responses: pairs, units, state, scores apart; and how it refuses."""

from __future__ import annotations

import json
import math

import pytest

from rldsl.compiler.objective import build
from rldsl.diagnostics import RecipeError
from rldsl.runtime.probe import probe, read_batch
from tests.probing import probe_of, recipe_of, row

PAIRS = {"ratio": "none", "reduction": "sequence_mean", "advantage": "none"}


def probed(file, **axes):
    return probe(build(recipe_of(**axes)), read_batch(json.dumps(file), "BATCH.json"))


def refused(file, **axes):
    with pytest.raises(RecipeError) as caught:
        probed(file, **axes)
    return [f"{d.code} {d.message}" for d in caught.value.diagnostics]


def side(*logps, ref=-1.0):
    return {"logp_current": list(logps), "logp_ref": [ref] * len(logps)}


def test_the_loss_over_pairs_is_their_mean_whatever_their_lengths():
    pairs = [{"chosen": side(-0.5), "rejected": side(-2.0, -2.0, -2.0)},
             {"chosen": side(-1.0, -1.0), "rejected": side(-1.0)}]
    out = probed({"pairs": pairs}, gate="dpo(0.1)", **PAIRS)
    margins = [0.1 * (0.5 + 3.0), 0.0]
    assert out["objective"] == pytest.approx(sum(-math.log1p(math.exp(-m)) for m in margins) / 2)
    assert out["loss"] == -out["objective"]
    slope = 0.1 / (1 + math.exp(margins[0])) / 2
    assert out["pairs"][0]["chosen"]["gradient"] == pytest.approx([-slope])
    assert out["pairs"][0]["rejected"]["gradient"] == pytest.approx([slope] * 3)


def test_likelihood_of_all_chosen_tokens_counts_once():
    pairs = [{"chosen": side(-0.5), "rejected": side(-2.0)}, {"chosen": side(-1.0, -1.2, -1.1), "rejected": side(-1.0)}]
    out = probed({"pairs": pairs}, gate="orpo(1e-9)", **PAIRS)
    assert out["objective"] == pytest.approx((-0.5 - 1.0 - 1.2 - 1.1) / 4, abs=1e-7)


def test_pairs_and_responses_are_not_mixed_up():
    pair = {"pairs": [{"chosen": side(-1.0), "rejected": side(-1.0)}]}
    assert refused(pair) == ["RL205 BATCH.json gives pairs, and the recipe's objective is over responses."]
    assert "gives responses" in refused({"responses": [row(1.0, logp_ref=[-1.0])]}, gate="dpo", **PAIRS)[0]
    assert "give `responses` or `pairs`" in refused({})[0]


def test_units_must_be_given_where_a_formula_is_over_them():
    found = refused({"responses": [row(1.0)]}, reduction="turn_mean")
    assert found == ["RL205 BATCH.json: `responses[0].turns` is missing; the recipe's objective reads it."]
    back = refused({"responses": [row(1.0, 1.0, 1.0, turns=[0, 1, 0])]}, reduction="turn_mean")
    assert "comes back to a label" in back[0]


def test_numbers_of_a_response_must_be_given():
    assert "`responses[0].greedy_reward` is missing" in refused({"responses": [row(1.0)]}, advantage="remax")[0]


def test_state_goes_in_and_comes_out():
    rows = [row(1.0, reward=r, agent=a) for r, a in ((1.0, 0), (0.0, 0), (-1.0, 1))]
    first = probed({"responses": rows}, advantage="rae(decay: 0.5)")
    assert first["state"]["rae"] == pytest.approx({"mean_0": 0.75 * 0.5, "mean_1": -0.5})
    then = probed({"responses": rows, "state": first["state"]}, advantage="rae(decay: 0.5)")
    assert [r["advantage"][0] for r in then["responses"]] == pytest.approx([0.625, -0.375, -0.5])
    unknown = refused({"responses": rows, "state": {"kl": {"coef": 1.0}}}, advantage="rae")
    assert unknown == ["RL205 BATCH.json: nothing carries the state `kl.coef`."]


def test_two_of_one_name_have_a_state_each():
    rows = [row(1.0, logp_ref=[-1.0], logp_old=[-1.0], logp_current=[-0.9])]
    gate = "none + kl(0.1, target: 1.0, estimator: k1) + kl(0.2, target: 0.05, estimator: k1)"
    out = probed({"responses": rows}, gate=gate)
    assert out["state"] == {"kl": {"coef": pytest.approx(0.1 * (1 - 0.2e-4))},
                            "kl_2": {"coef": pytest.approx(0.2 * (1 + 0.2e-4))}}
    held = probed({"responses": rows, "state": {"kl_2": {"coef": 0.0}}}, gate=gate)
    assert held["terms"]["kl_2"] == 0.0 and held["terms"]["kl"] == pytest.approx(-0.01)


def test_an_entropy_target_moves_its_coefficient():
    gate = "none + entropy(0.1, target: 0.5, step: 0.02)"
    narrow, wide = [row(1.0, entropy=[0.4])], [row(1.0, entropy=[0.6])]
    out = probed({"responses": narrow}, gate=gate)
    assert out["terms"]["entropy"] == 0.0 and out["state"]["entropy"] == pytest.approx({"coef": 0.12, "narrow": 1.0})
    then = probed({"responses": wide, "state": out["state"]}, gate=gate)
    assert then["terms"]["entropy"] == pytest.approx(0.12 * 0.6)
    assert then["state"]["entropy"] == pytest.approx({"coef": 0.1, "narrow": 0.0})


def test_sources_apart():
    feedback = 'verify(exact) + 3 * format("x")'
    found = refused({"responses": [row(1.0)]}, advantage="gdpo", feedback=feedback, sampling="group(2, max_tokens: 8)")
    assert any("scores.verify` is missing" in f for f in found)
    assert "the recipe has no source of that name" in refused({"responses": [row(1.0, scores={"judge": 1.0})]})[0]


def test_correctness_may_be_told_apart_from_the_reward():
    rows = [row(1.0, reward=5.0, correct=1.0), row(1.0, reward=5.0, correct=0.0)]
    out = probe_of(rows, sampling="group(2, max_tokens: 8) | keep(mixed)", advantage="group_mean")
    assert all(r["kept"] for r in out["responses"])
