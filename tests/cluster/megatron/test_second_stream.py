"""Pretraining texts in the update of many ranks: the gradient of the embedded backend, in any split."""

from __future__ import annotations

import dataclasses

import pytest

from rldsl.algebra.variables import PRETRAIN
from rldsl.backends.cluster.megatron.layout import Parallel
from rldsl.compiler.objective import Named
from rldsl.runtime.protocols import Cutting
from rldsl.runtime.trajectory import Trajectory

from .test_layouts import compare, named
from .test_steps import agree
from .updates import CLIP, KL, SGD, WHOLE, job, made_rows, objective

SLOW = dataclasses.replace(SGD, arguments={**SGD.arguments, "lr": 1e-3})
"""Two steps whose rounding does not grow from the first to the second."""
LAYOUTS = [Parallel(tensor=2), Parallel(pipeline=2), Parallel(tensor=2, data=2)]


def texts(count: int) -> list[Trajectory]:
    """Ragged, some longer than any row."""
    ids = [[(7 * i + j * j) % 97 for j in range(3 + 9 * i)] for i in range(count)]
    return [Trajectory(i, 0, i, tuple(t[:1]), tuple(t[1:]), (0.0,) * (len(t) - 1), (0,) * (len(t) - 1), "stop", "")
            for i, t in enumerate(ids)]


@pytest.mark.parametrize("layout", LAYOUTS, ids=named)
@pytest.mark.parametrize("term", [CLIP, WHOLE], ids=["token", "update"])
def test_the_gradient_is_that_of_the_embedded_backend(processes, folders, layout, term) -> None:
    """Two terms read the texts, one of them not linearly; the second update has texts and no live row."""
    mixed = (KL, Named("mix", 0.5 * PRETRAIN, own=True), Named("square", -0.01 * PRETRAIN * PRETRAIN, own=True))
    made, rows = objective(term, mixed), made_rows()
    first, second = (dataclasses.replace(job(made, rows, seed=s, cutting=Cutting(24, True, True), zero=s == 1),
                                         pretrain=texts(n)) for s, n in ((0, 5), (1, 1)))
    none = second.batch.with_columns(advantage=second.batch.value(0.0 * made.advantage))
    updates = [first, dataclasses.replace(second, batch=none)]
    ours, theirs, mine, its = compare(processes, layout, folders["llama"], made, updates, rows, SLOW)
    agree(ours, theirs)
    for one, other in zip(mine, its, strict=True):
        assert set(one.means()) == set(other.means())
        for name, value in other.means().items():
            assert one.means()[name] == pytest.approx(value, rel=1e-4, abs=1e-6), name
