"""The laws of each axis, for whatever is discovered on it, on batches where the right answer is known beforehand."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
import torch

from rldsl.algebra.expr import POSITION, STATE, STEP
from rldsl.algebra.grain import grains
from rldsl.algebra.render_latex import latex
from rldsl.algebra.render_mathml import mathml
from rldsl.algebra.render_unicode import unicode
from rldsl.axes import base
from rldsl.axes.traits import COMPARES, PROXIMAL, REFERENCE_KL, SIBLINGS, TOKEN_WEIGHTED
from rldsl.backends.local.training.terms import prepare, with_constants
from rldsl.backends.torch_math import TorchMath
from rldsl.compiler.describe import describe
from rldsl.runtime.probe_file import LABELS, PER_TOKEN

from .harness import (
    CHOICES,
    OBJECTIVE_CHOICES,
    example_choice,
    finite,
    objective_of,
    over_pairs,
    random_batch,
    run,
)
from .test_torch import same_in_torch, update_of

REWARDS = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0)
every = pytest.mark.parametrize("axis, name", OBJECTIVE_CHOICES, ids=str)


def of(role: type, trait: Any = None) -> Any:
    """All choices in a role whose example gives or needs a trait, as test parameters."""
    found = [(a, n) for a, n in OBJECTIVE_CHOICES if isinstance(c := example_choice(a, n), role)
             and (trait is None or trait in c.gives | c.needs)]
    return pytest.mark.parametrize("axis, name", found, ids=str)


def agreeing(rewards: tuple[float, ...] = REWARDS, copies: int = 1) -> list[dict[str, Any]]:
    """Two groups of four, all of whose policies agree on every token, and all of whose data is fresh."""
    out = []
    for copy in range(copies):
        for row, reward in zip(random_batch(5), rewards, strict=True):
            n = len(row["logp_current"])
            same = [-1.5 - 0.1 * t for t in range(n)]
            out.append({**row, **{f"logp_{who}": same for who in ("current", "old", "rollout", "ref", "teacher")},
                        "prompt": f"{row['prompt']} {copy}", "reward": reward, "truncated": False, "versions": [9] * n,
                        "scores": {"verify": reward, "format": reward}, "errors": [0] * n, "greedy_reward": 0.0,
                        "rewards": [0.0] * (n - 1) + [reward]})
    return out


def column(out: dict[str, Any], name: str) -> list[float]:
    return [x for r in out["responses"] for x in r.get(name, ())]


# ── ratio, gate, distribution, regularisers: what equal policies come to ─────────────────────────────

@of(base.Ratio)
def test_equal_policies_have_ratio_1(axis: str, name: str) -> None:
    assert set(column(run(objective_of(axis, name), agreeing()), "ratio")) == {1.0}


@of(base.Gate)
def test_at_ratio_1_a_gate_gives_the_policy_gradient(axis: str, name: str) -> None:
    """A for every token, times a number that is the same for all responses of one length."""
    objective = objective_of(axis, name)
    if over_pairs(objective) or COMPARES in example_choice(axis, name).gives:
        return
    factors: dict[int, float] = {}
    for r in run(objective, agreeing())["responses"]:
        for g, w, a, d in zip(r["gradient"], r["weight"], r["advantage"], r["correction"], strict=True):
            factor = factors.setdefault(len(r["weight"]), -g / (w * a * d) if a else 1.0)
            assert -g == pytest.approx(factor * w * a * d, abs=1e-12)
    assert all(f > 0 for f in factors.values()) and factors[1] == pytest.approx(1.0)


@of(base.Distribution)
def test_fresh_data_of_an_equal_engine_needs_no_correction(axis: str, name: str) -> None:
    out = run(objective_of(axis, name), agreeing())
    assert set(column(out, "correction")) == {1.0} and all(r["kept"] for r in out["responses"])


@of(base.Distribution)
def test_what_a_correction_takes_out_has_no_gradient(axis: str, name: str) -> None:
    for seed in range(4):
        for r in run(objective_of(axis, name), random_batch(seed, spread=1.5), 9)["responses"]:
            if r["kept"]:
                out = [g for g, d in zip(r["gradient"], r["correction"], strict=True) if d == 0]
                assert not any(out)


@of(base.Regulariser)
def test_what_holds_a_policy_is_0_where_it_is_held(axis: str, name: str) -> None:
    if {REFERENCE_KL, PROXIMAL} & example_choice(axis, name).gives:
        terms = run(objective_of(axis, name), agreeing())["terms"]
        assert terms[name] == pytest.approx(0.0, abs=1e-12)


# ── advantages ───────────────────────────────────────────────────────────────────────────────────────

@of(base.Estimator, SIBLINGS)
@pytest.mark.parametrize("reward", [0.0, 1.0, -2.5])
def test_siblings_with_equal_rewards_have_no_advantage(axis: str, name: str, reward: float) -> None:
    objective = objective_of(axis, name)
    if not {STATE, STEP, POSITION} & grains(objective.advantage):  # steps or tokens are then compared, not responses
        assert max(map(abs, column(run(objective, agreeing((reward,) * 8)), "advantage"))) < 1e-9


@of(base.Estimator, SIBLINGS)
def test_a_larger_unit_of_reward_keeps_every_sign(axis: str, name: str) -> None:
    plain, larger = (column(run(objective_of(axis, name), agreeing(tuple(k * r for r in REWARDS))), "advantage")
                     for k in (1.0, 3.0))
    assert [(x > 1e-12) - (x < -1e-12) for x in plain] == [(x > 1e-12) - (x < -1e-12) for x in larger]


@pytest.mark.parametrize("name", ["best_of_group", "gdpo", "group_mean", "group_norm", "opo", "reward_to_go", "rloo",
                                  "turn_group", "batch_mean", "batch_norm", "gpg"])
def test_a_baseline_takes_out_what_is_added_to_every_reward(name: str) -> None:
    plain, more = (column(run(objective_of("advantage", name), agreeing(tuple(k + r for r in REWARDS))), "advantage")
                   for k in (0.0, 2.0))
    assert more == pytest.approx(plain, abs=1e-6)


# ── reductions ───────────────────────────────────────────────────────────────────────────────────────

@of(base.Reduction)
def test_the_trait_says_who_weighs_the_same(axis: str, name: str) -> None:
    """Token-weighted: one weight for all tokens of a group, whatever the lengths."""
    rows = run(objective_of(axis, name), agreeing())["responses"]
    alike = all(len({round(w, 12) for r in rows[g:g + 4] for w in r["weight"]}) == 1 for g in (0, 4))
    assert alike == (TOKEN_WEIGHTED in example_choice(axis, name).gives)


@of(base.Reduction)
def test_twice_the_prompts_halve_every_weight_or_leave_it(axis: str, name: str) -> None:
    once, twice = (column(run(objective_of(axis, name), agreeing(REWARDS * n, 1) if n == 1 else agreeing(copies=2)),
                          "weight") for n in (1, 2))
    factors = {round(b / a, 9) for a, b in zip(once * 2, twice, strict=True)}
    assert factors in ({0.5}, {1.0}) and min(once) > 0


# ── edges ────────────────────────────────────────────────────────────────────────────────────────────

LISTS = (*PER_TOKEN, *LABELS)


@every
@pytest.mark.parametrize("lengths", [(0, 1, 1, 1), (0, 0, 2, 1), (0, 0, 0, 0)], ids=str)
def test_empty_rows_and_single_tokens_stay_finite_and_the_same_in_torch(axis: str, name: str,
                                                                         lengths: tuple[int, ...]) -> None:
    rows = [r | {k: (r[k] * 2)[:n] for k in LISTS} for r, n in zip(random_batch(3), lengths * 2, strict=True)]
    rows = [r | {k: [0] * len(r[k]) for k in LISTS[-4:]} for r in rows]
    objective = objective_of(axis, name)
    assert finite(run(objective, rows))
    same_in_torch(objective, rows)


@every
@pytest.mark.parametrize("spread", [20.0, 200.0])
def test_extreme_ratios_stay_finite_in_torch(axis: str, name: str, spread: float) -> None:
    objective = objective_of(axis, name)
    terms = prepare(objective)
    update = with_constants(terms, update_of(objective, TorchMath(), random_batch(11, spread=spread)))
    for part in terms.parts:
        value, slopes = update.math.both(part.expr, update.columns, update.shape)
        assert all(bool(torch.isfinite(x).all()) for x in (value.data, *slopes.values())), part.name


# ── how it is shown ──────────────────────────────────────────────────────────────────────────────────

@pytest.mark.parametrize("axis, name", CHOICES, ids=str)
def test_every_formula_can_be_typeset(axis: str, name: str) -> None:
    found = describe(axis, name)
    for what, e in found.formulas:
        text = latex(e)
        assert text.count("{") == text.count("}") and text.count(r"\left") == text.count(r"\right"), what
        assert text.count(r"\begin") == text.count(r"\end") and "None" not in text, what
        assert unicode(e).strip() and ElementTree.fromstring(mathml(e)).tag == "math", what


@pytest.mark.parametrize("axis, name", CHOICES, ids=str)
def test_every_parameter_says_what_it_is(axis: str, name: str) -> None:
    found = describe(axis, name)
    assert found.summary and found.call.startswith(name)
    assert [p.name for p in found.parameters if not p.accepts] == []


