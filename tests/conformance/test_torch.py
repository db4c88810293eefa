"""Every choice, trained in torch, is the choice that `probe` evaluates: the same constants, values and gradients."""

from __future__ import annotations

import pytest
import torch

from rldsl.algebra.divergence import is_divergence
from rldsl.algebra.evaluate import Value, gradient
from rldsl.backends.local.training.terms import prepare, with_constants
from rldsl.backends.torch_math import TorchMath
from rldsl.compiler.objective import Objective
from rldsl.runtime.batch import Batch, PlainMath
from rldsl.runtime.probe import _columns
from rldsl.runtime.settle import settle, weigh

from .harness import OBJECTIVE_CHOICES, batch_file, objective_of, random_batch

FIXED = ("reward", "token_reward", "advantage", "correction", "weight", "value_target")
CURRENT = frozenset({"logp_current", "entropy", "kl_exact", "squares", "logp_pretrain"})


def update_of(objective: Objective, math, responses: list[dict]) -> Batch:
    """One update with its constants, computed by `math`."""
    plain = _columns(objective, batch_file(objective, responses), "BATCH.json")
    columns = {n: Value(v.grain, math.column(v.data)) for n, v in plain.columns.items()}
    batch = Batch.of(plain.lengths, plain.groups, columns, math, **plain.extra)
    return weigh(objective, settle(objective, batch).batch)


def close(plain, ours) -> bool:
    return torch.allclose(torch.tensor(plain, dtype=torch.float64), ours, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("axis, name", OBJECTIVE_CHOICES, ids=lambda x: str(x))
@pytest.mark.parametrize("seed", [0, 1])
def test_torch_computes_what_probe_does(axis: str, name: str, seed: int) -> None:
    same_in_torch(objective_of(axis, name), random_batch(seed))


def same_in_torch(objective: Objective, responses: list[dict]) -> None:
    """Fails where a constant, a value or a gradient is another one in torch."""
    plain, ours = (update_of(objective, math, responses) for math in (PlainMath(), TorchMath()))
    assert plain.rows == ours.rows
    for column in FIXED:
        if column in plain.columns:
            assert close(plain.columns[column].data, ours.columns[column].data), column
    terms = prepare(objective)
    ours = with_constants(terms, ours)
    for whole, part in zip(objective.terms(), terms.parts, strict=True):
        value, slopes = ours.math.both(part.expr, ours.columns, ours.shape)
        assert close(plain.value(whole.expr).data, value.data.sum()[None]), whole.name
        expected = gradient(whole.expr, {n: v.data for n, v in plain.columns.items()}, plain.shape)
        assert {n for n in expected if not is_divergence(n)} <= CURRENT
        for variable, slope in expected.items():
            assert close(slope, slopes[variable]), (whole.name, variable)


@pytest.mark.parametrize("axis, name", OBJECTIVE_CHOICES, ids=lambda x: str(x))
def test_gradients_of_response_terms_do_not_need_the_whole_update(axis: str, name: str) -> None:
    """Where nothing looks beyond a response, coefficients of single responses are those of the whole update."""
    objective = objective_of(axis, name)
    terms = prepare(objective)
    whole = with_constants(terms, update_of(objective, TorchMath(), random_batch(2)))
    if terms.whole:
        return
    pieces = [whole.select([i]) for i in range(len(whole.lengths))]
    for part in terms.parts:
        at_once = whole.math.gradient(part.expr, whole.columns, whole.shape)
        apart = [p.math.gradient(part.expr, p.columns, p.shape) for p in pieces]
        for variable, slope in at_once.items():
            if variable == "logp_pretrain":  # belongs to the update, not to a response
                continue
            assert torch.allclose(torch.cat([a[variable] for a in apart]), slope, atol=1e-14), (part.name, variable)
