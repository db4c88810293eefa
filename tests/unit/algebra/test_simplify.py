"""Laws keep the value, and see exact zeros."""

from __future__ import annotations

from hypothesis import given, settings

from rldsl.algebra import expr as x
from rldsl.algebra.evaluate import evaluate
from rldsl.algebra.grain import substitute
from rldsl.algebra.simplify import is_zero, simplify
from rldsl.algebra.variables import ADVANTAGE, ENTROPY, LOGP, LOGP_OLD

from .strategies import EXPRESSIONS, batches

ZERO = {"advantage": x.Const(0.0)}


@settings(max_examples=100, deadline=None)
@given(EXPRESSIONS, batches())
def test_a_simplified_expression_has_the_same_value(e, batch):
    shape, env = batch
    before, after = evaluate(e, env, shape), evaluate(simplify(e), env, shape)
    spread = [after.data[i] for i in shape.index(before.grain, after.grain)]
    assert all(abs(a - b) <= 1e-12 * (1 + abs(a)) for a, b in zip(before.data, spread, strict=True))


def test_zero_advantage_makes_policy_terms_exactly_zero():
    r = x.ratio_of(LOGP - LOGP_OLD)
    clipped = x.minimum(r * ADVANTAGE, x.clip(r, 0.8, 1.2) * ADVANTAGE)
    assert is_zero(substitute(clipped, ZERO))
    assert is_zero(substitute(x.sg(x.clip(r, 0, 1.2)) * ADVANTAGE * LOGP, ZERO))
    assert not is_zero(substitute(clipped + 0.1 * ENTROPY, ZERO))
    assert is_zero(0.0 * ENTROPY)
