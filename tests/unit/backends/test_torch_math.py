"""The torch evaluator against the plain-Python reference: values and gradients of random expressions."""

from __future__ import annotations

import math
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rldsl.algebra import expr as a
from rldsl.algebra.evaluate import Value, evaluate, gradient
from rldsl.algebra.grain import walk
from rldsl.algebra.layout import Layout, layout
from rldsl.algebra.variables import ADVANTAGE, ENTROPY, LAST, LOGP, LOGP_OLD, REWARD, TRAINER_VERSION
from rldsl.backends.torch_math import TorchMath
from rldsl.runtime.batch import Batch

LEAVES = [LOGP, LOGP_OLD, ADVANTAGE, ENTROPY, REWARD, TRAINER_VERSION]
UNARY = ["neg", "exp", "abs", "sigmoid", "sg", "not", "log"]
BINARY = ["add", "sub", "mul", "div", "min", "max", "lt", "le", "gt", "ge", "eq", "and", "or"]
REDUCTIONS = ["sum", "mean", "std", "std_sample", "max", "min", "count"]
NUMBERS = [-1.5, -1.0, -0.25, 0.0, 0.25, 0.5, 1.0, 2.0]


def at_tokens(e: a.Expr) -> a.Expr:
    """The expression at token grain: a reduction needs members at a finer grain than its result."""
    return LOGP_OLD * 0 + e


def expressions() -> st.SearchStrategy[a.Expr]:
    leaves = st.sampled_from(LEAVES) | st.sampled_from(NUMBERS).map(a.Const)

    def grow(inner: st.SearchStrategy[a.Expr]) -> st.SearchStrategy[a.Expr]:
        token = inner.map(at_tokens)
        return st.one_of(
            st.builds(lambda op, x: a.Apply(op, (x,)), st.sampled_from(UNARY), inner),
            st.builds(lambda op, x, y: a.Apply(op, (x, y)), st.sampled_from(BINARY), inner, inner),
            st.builds(a.where, inner, inner, inner),
            st.builds(a.clip, inner, st.just(-0.5), st.just(0.5)),
            st.builds(a.Reduce, st.sampled_from(REDUCTIONS), token, st.sampled_from(["response", "group", "update"])),
            st.builds(a.Order, st.sampled_from(["above", "upto"]), token,
                      st.sampled_from(["response", "group", "update"])),
            st.builds(a.Scan, token, inner.map(lambda e: a.clip(e, -1, 1)), st.sampled_from(["response", "turn"])),
            st.builds(a.Shift, token, inner, st.sampled_from(["response", "turn"])))

    return st.recursive(leaves, grow, max_leaves=8)


def case(seed: int):
    """A ragged batch whose numbers are drawn from few values, so that ties and zero spreads occur."""
    rng = random.Random(seed)
    lengths = [rng.choice([1, 2, 3, 5]) for _ in range(rng.choice([1, 3, 6]))]
    groups = [rng.choice([0, 1, 2]) for _ in lengths]
    turns = [sorted(rng.choice([0, 1]) for _ in range(n)) for n in lengths]
    shape = layout(lengths, groups, turns=turns)
    env = {v.name: [rng.choice(NUMBERS) for _ in range(shape.size(v.grain))] for v in LEAVES}
    return shape, env, {v.name: Value(v.grain, torch.tensor(env[v.name], dtype=torch.float64)) for v in LEAVES}


def close(plain: list[float], ours: list[float]) -> bool:
    return all(math.isclose(p, o, rel_tol=1e-12, abs_tol=1e-12) or (math.isnan(p) and math.isnan(o))
               for p, o in zip(plain, ours, strict=True))


def tame(values: list[float]) -> bool:
    return all(math.isfinite(v) and abs(v) < 1e6 for v in values)


def orders_nan(e: a.Expr, env: dict, shape: Layout) -> bool:
    """Whether NaN is compared for size somewhere: Python's min and max then depend on the order of arguments."""
    ops = (*REDUCTIONS, "clip", "above", "upto")
    sizes = (n for n in walk(e) if isinstance(n, (a.Reduce, a.Order, a.Apply)) and n.op in ops)
    return any(math.isnan(x) for n in sizes for part in a.children(n) for x in evaluate(part, env, shape).data)


@settings(max_examples=250, deadline=None, derandomize=True)
@given(expressions(), st.integers(0, 50))
def test_values_and_gradients_equal_the_reference(e: a.Expr, seed: int) -> None:
    shape, env, columns = case(seed)
    plain = evaluate(e, env, shape)
    ours, slopes = TorchMath().both(e, columns, shape)
    if not tame(plain.data) or orders_nan(e, env, shape):
        return
    assert ours.grain == plain.grain
    assert close(plain.data, ours.data.tolist())
    for name, expected in gradient(e, env, shape).items():
        if tame(expected):
            assert close(expected, slopes[name].tolist()), name


@pytest.mark.parametrize("e, env, value, slope", [
    (a.where(a.gt(LOGP, 0), a.log(LOGP), 0.0), [-1.0], 0.0, 0.0),
    (a.where(a.gt(LOGP, 5), a.exp(LOGP * 1000), 1.0), [2.0], 1.0, 0.0),
    (LOGP / 0.0, [1.0], math.inf, 0.0),
    (a.minimum(LOGP, 2.0), [2.0], 2.0, 0.5),
    (a.clip(LOGP, 0, 2.0), [2.0], 2.0, 1.0),
    (a.ratio_of(LOGP * 300), [1.0], math.exp(20), 0.0),
])
def test_conventions_at_the_edges(e: a.Expr, env: list[float], value: float, slope: float) -> None:
    shape = layout([1], [0])
    columns = {"logp_current": Value("token", torch.tensor(env, dtype=torch.float64))}
    ours, slopes = TorchMath().both(e, columns, shape)
    assert ours.data.tolist() == pytest.approx([value])
    assert slopes["logp_current"].tolist() == [slope]


def test_group_statistics_do_not_depend_on_the_order_of_rows() -> None:
    rng = random.Random(5)
    groups = [0] * 7 + [1] * 9
    rewards = torch.tensor([rng.random() for _ in groups], dtype=torch.float64)
    batch = Batch.of([1] * 16, groups, {"reward": Value("response", rewards)}, TorchMath())
    norm = (REWARD - a.mean(REWARD, "group")) / (a.std(REWARD, "group", "sample") + 1e-6)
    straight = batch.value(norm, "token").data
    order = rng.sample(range(16), 16)
    moved = batch.select(order).value(norm, "token").data
    assert torch.equal(moved, straight[torch.tensor(order)])


def test_rounding_noise_is_no_spread() -> None:
    rewards = torch.tensor([0.1 + 0.2, 0.3, 0.3], dtype=torch.float64)
    batch = Batch.of([1] * 3, [0, 0, 0], {"reward": Value("response", rewards)}, TorchMath())
    assert batch.value(a.std(REWARD, "group")).data.tolist() == [0.0]


def test_a_long_scan_equals_the_loop() -> None:
    n = 3000
    x = torch.randn(n, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    shape = layout([1700, 1300], [0, 0])
    ours = TorchMath().evaluate(a.discounted(LOGP, 0.97), {"logp_current": Value("token", x)}, shape).data
    plain = evaluate(a.discounted(LOGP, 0.97), {"logp_current": x.tolist()}, shape).data
    assert torch.allclose(ours, torch.tensor(plain, dtype=torch.float64), rtol=1e-12, atol=1e-12)


def test_a_column_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match=r"logp_current: shape \(2,\) for 3 tokens"):
        TorchMath().evaluate(LOGP, {"logp_current": Value("token", torch.zeros(2))}, layout([3], [0]))


@pytest.mark.parametrize("op", REDUCTIONS)
def test_an_empty_batch_has_empty_columns(op: str) -> None:
    batch = Batch.of([2], [0], {"reward": Value("response", torch.ones(1))}, TorchMath()).select([])
    groups = batch.value(a.Reduce(op, REWARD, "group"))
    assert groups.data.tolist() == []
    assert batch.value(a.Reduce(op, REWARD, "update")).data.tolist() == [0.0]
    assert batch.value(a.discounted(REWARD + LAST * 0, 0.9), "token").data.tolist() == []
