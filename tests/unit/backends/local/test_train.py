"""A policy or critic step does not depend on how the update is split, and never happens on bad numbers."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch

from rldsl.algebra import expr as a
from rldsl.algebra.evaluate import Value, gradient
from rldsl.algebra.variables import ADVANTAGE, LENGTH, LOGP, LOGP_OLD
from rldsl.backends.local.engine import LocalEngine, fingerprint
from rldsl.backends.local.load import load_policy
from rldsl.backends.local.training.critic import value_loss
from rldsl.backends.local.training.forward import forward
from rldsl.backends.local.training.optimizer import OptimizerSpec
from rldsl.backends.local.training.terms import prepare
from rldsl.compiler.objective import Named, Objective
from rldsl.runtime.batch import Batch
from rldsl.runtime.errors import RunError
from rldsl.runtime.protocols import Cutting, UpdateJob, UpdateOptions
from rldsl.runtime.settle import weigh
from rldsl.runtime.trajectory import Request, SamplingOptions

SAMPLING = SamplingOptions(1.0, 6)
RATIO = a.ratio_of(LOGP - LOGP_OLD)
CLIP = a.minimum(RATIO * ADVANTAGE, a.clip(RATIO, 0.8, 1.2) * ADVANTAGE)
SGD = OptimizerSpec("torch.optim:SGD", {"lr": 1.0}, None)
OPTIONS = UpdateOptions(("logp_current",), Cutting(None, True, True), True, False)
ONE, ZERO = a.Const(1.0), a.Const(0.0)
WHOLE = (LOGP - a.mean(LOGP, "update")) * ADVANTAGE
WHOLE_ORDER = a.where(a.le(a.above(ADVANTAGE * a.sg(LOGP), "update"), 3), 0.0, ADVANTAGE * LOGP)
WHOLE_MASK = a.where(a.gt(a.sg(LOGP), a.mean(a.sg(LOGP), "update")), RATIO * ADVANTAGE, 0.0)


def objective(policy: a.Expr = CLIP, regularisers: tuple[Named, ...] = (), target: a.Expr | None = None) -> Objective:
    weight = a.where(a.gt(a.total(LENGTH, "update"), 0), ONE / a.total(LENGTH, "update"), 0.0)
    return Objective((), ZERO, None, ZERO, ZERO, (), (), (), ADVANTAGE, target, ONE, ONE, weight, RATIO, policy,
                     regularisers)


def engine(made: Objective, optimizer: OptimizerSpec = SGD, critic: bool = False) -> LocalEngine:
    policy, _ = load_policy("toy:llama-2x32", "float32", 3)
    return LocalEngine(policy, made, SAMPLING, optimizer, seed=3, critic=(optimizer, 1) if critic else None)


def rows(e: LocalEngine):
    prompts = [(5, 6, 7), (8, 9), (4, 4, 4, 4)]
    return e.sample([Request(i, i, p, 3) for i, p in enumerate(prompts)], SAMPLING, batch=0)


def update(e: LocalEngine, made: Objective, found, advantages=None) -> Batch:
    tokens = sum(len(r.tokens) for r in found)
    generator = torch.Generator().manual_seed(1)
    old = e.math.column([x for r in found for x in r.logps])
    column = {"advantage": torch.randn(tokens, generator=generator) if advantages is None else torch.tensor(advantages),
              "logp_old": old + 0.3 * torch.randn(tokens, generator=generator), "logp_rollout": old,
              "correction": torch.ones(tokens), "value_target": torch.randn(tokens, generator=generator),
              "values": torch.zeros(tokens)}
    batch = Batch.of([len(r.tokens) for r in found], [r.group for r in found],
                     {n: Value("token", e.math.column(c)) for n, c in column.items()}, e.math)
    return weigh(made, batch)


def step(made: Objective, options: UpdateOptions = OPTIONS, advantages=None, **job):
    """The parameters' change and the tally of one step with learning rate 1."""
    e = engine(made, critic=job.get("critic", False))
    found = rows(e)
    before = [p.detach().clone() for p in e.policy.parameters()]
    job = {"lr_factor": 1.0, "policy": True, "critic": False, **job}
    tally = e.update(UpdateJob(found, update(e, made, found, advantages), options, **job))
    change = torch.cat([(b - p.detach()).flatten() for b, p in zip(before, e.policy.parameters(), strict=True)])
    return change, tally, e


def test_the_step_is_the_gradient_of_the_reference_evaluator() -> None:
    made = objective()
    e = engine(made)
    found = rows(e)
    batch = update(e, made, found)
    logp = forward(e.policy, found, frozenset({"logp_current"}), SAMPLING, grad=True)["logp_current"]
    env = {n: v.data.tolist() for n, v in batch.columns.items()} | {"logp_current": logp.tolist()}
    coefficients = gradient(made.terms()[0].expr, env, batch.shape)["logp_current"]
    (logp * torch.tensor(coefficients)).sum().backward()
    expected = torch.cat([-p.grad.flatten() for p in e.policy.parameters()])
    change, tally, _ = step(made)
    assert torch.allclose(change, expected, atol=1e-7)
    assert tally.means()["grad_norm"] == pytest.approx(float(expected.norm()), rel=1e-5)


@pytest.mark.parametrize("policy", [CLIP, WHOLE, WHOLE_MASK, WHOLE_ORDER])
@pytest.mark.parametrize("cutting", [Cutting(8, True, True), Cutting(16, True, True), Cutting(16, False, False),
                                     Cutting(1, False, True), Cutting(None, True, False)])
def test_no_split_changes_the_step(policy: a.Expr, cutting: Cutting) -> None:
    made = objective(policy, (Named("kl", -0.1 * (a.ratio_of(LOGP_OLD - LOGP) - 1 - LOGP_OLD + LOGP)),))
    whole, one, _ = step(made)
    change, many, _ = step(made, dataclasses.replace(OPTIONS, cutting=cutting))
    assert float((change - whole).abs().max()) < 1e-6 * float(whole.abs().max()) + 1e-8
    for name in ("objective/policy", "objective/kl", "ratio/mean", "gated"):
        assert many.means()[name] == pytest.approx(one.means()[name], rel=1e-5, abs=1e-7)


def test_what_looks_beyond_a_response_is_known() -> None:
    assert not prepare(objective()).whole
    assert prepare(objective(WHOLE)).whole and prepare(objective(WHOLE_MASK)).whole
    constant = prepare(objective(CLIP * a.mean(ADVANTAGE, "update")))
    assert not constant.whole and len(constant.constants) == 1


def test_rows_without_advantage_may_be_left_out() -> None:
    found = rows(engine(objective()))
    advantages = [float(r.group != 1) for r in found for _ in r.tokens]
    full, _, _ = step(objective(), advantages=advantages)
    change, tally, _ = step(objective(), dataclasses.replace(OPTIONS, skip_zero_rows=True), advantages)
    assert tally.means()["rows_computed"] == 6
    assert float((change - full).abs().max()) < 1e-6 * float(full.abs().max())


def test_when_all_rows_vanish_the_optimizer_still_steps() -> None:
    decay = OptimizerSpec("torch.optim:AdamW", {"lr": 0.1, "weight_decay": 0.5}, 1.0)
    made, e = objective(), engine(objective(), decay)
    found = rows(e)
    zeros = update(e, made, found, [0.0] * sum(len(r.tokens) for r in found))
    before = e.policy.embed.detach().clone()
    job = UpdateJob(found, zeros, dataclasses.replace(OPTIONS, skip_zero_rows=True), 1.0, True, False)
    tally = e.update(job)
    assert tally.means()["grad_norm"] == 0
    assert torch.allclose(e.policy.embed.detach(), before * 0.95)


def test_separate_forwards_give_the_same_step() -> None:
    from rldsl.algebra.variables import ENTROPY

    made = objective(regularisers=(Named("entropy", 0.1 * ENTROPY),))
    options = dataclasses.replace(OPTIONS, wants=("logp_current", "entropy"))
    one, tally, _ = step(made, options)
    two, _, _ = step(made, dataclasses.replace(options, one_forward=False))
    assert torch.allclose(one, two, atol=1e-7)
    assert tally.means()["entropy"] > 0


def test_a_number_that_is_not_finite_stops_before_the_step() -> None:
    made, e = objective(), engine(objective())
    found = rows(e)
    advantages = [1.0] * sum(len(r.tokens) for r in found)
    advantages[len(found[0].tokens)] = float("nan")
    before = fingerprint(e.policy)
    with pytest.raises(RunError) as caught:
        e.update(UpdateJob(found, update(e, made, found, advantages), OPTIONS, 1.0, True, False))
    said = caught.value.diagnostic
    assert said.code == "RL601" and "the policy term" in said.message and "0.1" in said.why
    assert fingerprint(e.policy) == before


def test_a_gradient_that_is_not_finite_names_the_parameter() -> None:
    made, e = objective(), engine(objective())
    found = rows(e)
    batch = update(e, made, found)
    e.policy.norm.register_hook(lambda g: g * float("inf"))
    before = fingerprint(e.policy)
    with pytest.raises(RunError) as caught:
        e.update(UpdateJob(found, batch, OPTIONS, 1.0, True, False))
    assert "gradient of norm" in caught.value.diagnostic.message
    assert fingerprint(e.policy) == before


def test_clipping_bounds_the_norm_and_the_factor_scales_the_rate() -> None:
    made = objective()
    free, tally, _ = step(made)
    bound = tally.means()["grad_norm"] / 2
    e = engine(made, OptimizerSpec("torch.optim:SGD", {"lr": 1.0}, bound))
    found = rows(e)
    before = torch.cat([p.detach().flatten().clone() for p in e.policy.parameters()])
    e.update(UpdateJob(found, update(e, made, found), OPTIONS, 0.5, True, False))
    change = before - torch.cat([p.detach().flatten() for p in e.policy.parameters()])
    assert float(change.norm()) == pytest.approx(bound / 2, rel=1e-4)
    assert torch.allclose(change, free / 4, atol=1e-6)


@pytest.mark.parametrize("micro", [8, 16])
def test_the_critic_step_does_not_depend_on_the_split(micro: int) -> None:
    made = objective(target=ADVANTAGE)
    _, one, first = step(made, policy=False, critic=True, value_clip=0.2)
    split = dataclasses.replace(OPTIONS, cutting=Cutting(micro, True, True))
    _, two, second = step(made, split, policy=False, critic=True, value_clip=0.2)
    assert one.means()["critic/value_loss"] == pytest.approx(two.means()["critic/value_loss"], rel=1e-6)
    pairs = zip(first._critic.critic.parameters(), second._critic.critic.parameters(), strict=True)
    assert all(torch.allclose(x, y, atol=1e-6) for x, y in pairs)
    assert "grad_norm" not in one.means()


def test_value_clipping_takes_the_larger_loss() -> None:
    v, target, recorded = torch.tensor([1.0, 0.1]), torch.tensor([0.0, 0.0]), torch.tensor([2.0, 0.0])
    assert value_loss(v, target, recorded, 0.2).tolist() == pytest.approx([1.62, 0.005])
    assert value_loss(v, target, None, None).tolist() == pytest.approx([0.5, 0.005])


def test_saved_and_restored_is_bit_equal(tmp_path) -> None:
    made = objective(target=ADVANTAGE)
    adam = OptimizerSpec("torch.optim:AdamW", {"lr": 1e-3}, 1.0)
    e, twin = engine(made, adam, critic=True), engine(made, adam, critic=True)
    found = rows(e)
    job = UpdateJob(found, update(e, made, found), OPTIONS, 1.0, True, True)
    e.update(job)
    e.publish()
    e.save(tmp_path)
    twin.load(tmp_path, e.version)
    e.update(job)
    twin.update(job)
    assert fingerprint(e.policy) == fingerprint(twin.policy)
    assert fingerprint(e._critic.critic) == fingerprint(twin._critic.critic)
    assert twin.version == 1


def test_a_missing_piece_is_named(tmp_path) -> None:
    e = engine(objective())
    e.save(tmp_path)
    (tmp_path / "optimizer.pt").unlink()
    with pytest.raises(RunError) as caught:
        e.load(tmp_path, 0)
    assert caught.value.diagnostic.code == "RL609" and "optimizer.pt" in caught.value.diagnostic.message


def test_the_order_of_rows_changes_nothing() -> None:
    made = objective()
    whole, _, _ = step(made)
    e = engine(made)
    found = rows(e)
    order = [4, 0, 8, 2, 6, 1, 7, 3, 5]
    before = torch.cat([p.detach().flatten().clone() for p in e.policy.parameters()])
    moved = update(e, made, found).select(order)
    e.update(UpdateJob([found[i] for i in order], moved, OPTIONS, 1.0, True, False))
    change = before - torch.cat([p.detach().flatten() for p in e.policy.parameters()])
    assert float((change - whole).abs().max()) < 1e-6 * float(whole.abs().max()) + 1e-8


def test_the_tail_counts_tokens_beyond_a_factor_of_two_in_any_split() -> None:
    made = objective()
    for cutting in (Cutting(None, True, True), Cutting(9, False, False)):
        e = engine(made)
        found = rows(e)
        batch = update(e, made, found)
        apart = batch.columns["logp_rollout"].data.clone()
        apart[:2] -= math.log(3.0)
        apart[2] -= math.log(1.9)
        batch = batch.with_columns(logp_rollout=Value("token", apart))
        options = dataclasses.replace(OPTIONS, cutting=cutting)
        tally = e.update(UpdateJob(found, batch, options, lr_factor=1.0, policy=True, critic=False))
        assert tally.means()["mismatch/tail"] == pytest.approx(2 / len(apart))
