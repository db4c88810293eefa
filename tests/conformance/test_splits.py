"""The gradient of an update is a function of its rows alone: not of micro-batches, packing, order or ranks."""

from __future__ import annotations

import multiprocessing
from functools import cache
from pathlib import Path

import pytest
import torch

from rldsl.runtime.protocols import Cutting

from . import ranks
from .harness import OBJECTIVE_CHOICES, another_order, objective_of
from .training import Update, update_of, whole

AT_ONCE = Cutting(None, False, True)
CUTTINGS = {"single rows": Cutting(1, False, True), "balanced": Cutting(12, True, True),
            "in one, a prompt for each response": Cutting(None, True, False)}
WORKERS = multiprocessing.get_context("forkserver")
WORKERS.set_forkserver_preload([ranks.__name__])
choices = pytest.mark.parametrize("axis, name", OBJECTIVE_CHOICES, ids=lambda x: str(x))


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@cache
def at_once(axis: str, name: str) -> torch.Tensor:
    """The gradient of all rows in one piece."""
    return whole(update_of(objective_of(axis, name)), AT_ONCE)


def equal(found: torch.Tensor, wanted: torch.Tensor) -> bool:
    """To float32's rounding, measured by the largest entry."""
    return float((found - wanted).abs().max()) <= 2e-6 * float(wanted.abs().max()) + 1e-9


@choices
def test_no_micro_batch_or_packing_changes_the_gradient(axis: str, name: str) -> None:
    made = update_of(objective_of(axis, name))
    for what, cutting in CUTTINGS.items():
        assert equal(whole(made, cutting), at_once(axis, name)), what


@choices
def test_no_order_of_rows_changes_the_gradient(axis: str, name: str) -> None:
    made = update_of(objective_of(axis, name))
    order = another_order(made.objective, len(made.rows))
    moved = Update(made.objective, [made.rows[i] for i in order], made.batch.select(order))
    assert equal(whole(moved, Cutting(12, False, True)), at_once(axis, name))


@pytest.fixture(scope="module")
def summed(tmp_path_factory) -> dict[tuple[str, str, str], torch.Tensor]:
    """What two real processes found together, for every choice and split."""
    folder: Path = tmp_path_factory.mktemp("ranks")
    out = folder / "gradients.pt"
    workers = [WORKERS.Process(target=ranks.train, args=(rank, 2, str(folder / "meeting"), str(out)))
               for rank in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert [worker.exitcode for worker in workers] == [0, 0]
    return torch.load(out)


@choices
def test_two_ranks_have_the_gradient_of_one(summed, axis: str, name: str) -> None:
    for split in ranks.SPLITS:
        assert equal(summed[axis, name, split], at_once(axis, name)), split


def test_the_updates_have_something_to_compare() -> None:
    """Most choices have a gradient here, so that equality means something."""
    sizes = [float(at_once(*c).abs().max()) for c in OBJECTIVE_CHOICES]
    assert sum(size > 1e-6 for size in sizes) >= 0.9 * len(sizes)
