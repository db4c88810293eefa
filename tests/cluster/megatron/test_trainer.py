"""The front over Ray actors: the same numbers as in one process, and a group that dies and comes back together."""

from __future__ import annotations

import os
import signal

import pytest
import torch

from rldsl.backends.cluster.megatron_layout import Parallel
from rldsl.backends.cluster.rank import RankSpec
from rldsl.backends.cluster.ranks import Ranks, spawner
from rldsl.backends.cluster.ray_session import ray_session
from rldsl.backends.cluster.trainer import ClusterTrainer
from rldsl.backends.cluster.weights import unpack
from rldsl.backends.local.hf_weights import exported
from rldsl.runtime.errors import RunError
from rldsl.runtime.protocols import Cutting

from .updates import ADAMW, SAMPLING, embedded, job, made_rows, objective

CUTTING = Cutting(24, True, True)


class Receiver:
    """In place of engines that sample."""

    def __init__(self) -> None:
        self.versions: list[int] = []
        self.tensors: dict[str, torch.Tensor] = {}

    def load(self, version, weights) -> str:
        import ray

        self.versions.append(version)
        self.tensors = {n: t.clone() for n, t in unpack(weights.manifest, ray.get(weights.flat).copy())}
        return weights.manifest.fingerprint


@pytest.fixture(scope="module")
def session():
    with ray_session(None, 4):
        yield


def test_the_front_trains_as_one_engine_and_comes_back_from_a_death(session, folders, tmp_path) -> None:
    """C-033: a rank that dies in a collective ends all, and all come back."""
    made, rows = objective(target=objective().advantage), made_rows()
    engine = embedded(folders["llama"], made, ADAMW, critic=(ADAMW, 1))
    spec = RankSpec(Parallel(tensor=2), folders["llama"], "float32", made, SAMPLING, ADAMW, critic=(ADAMW, 1))
    receiver = Receiver()
    ranks = Ranks(2, spawner(spec, lambda number: "DEFAULT", 0))
    trainer = ClusterTrainer(ranks, receiver.load, "float32")
    update = job(made, rows, cutting=CUTTING, critic=True)
    tally, expected = trainer.update(update), engine.update(update)
    assert tally.means() == pytest.approx(expected.means(), rel=1e-3, abs=1e-6)
    found = trainer.logprobs("current", rows, ("logp_current", "entropy"), CUTTING)
    theirs = engine.logprobs("current", rows, ("logp_current", "entropy"), CUTTING)
    for name, column in theirs.items():
        assert float((found[name] - column).abs().max()) < 1e-4
    assert float((trainer.values(rows, CUTTING) - engine.values(rows, CUTTING)).abs().max()) < 1e-5
    assert len(trainer.publish()) == 16 and receiver.versions == [1]
    held = exported(engine.policy)
    assert set(receiver.tensors) == set(held)
    assert max(float((receiver.tensors[n] - held[n]).abs().max()) for n in held) < 1e-5
    trainer.save(tmp_path)

    import ray

    trainer.update(update)
    os.kill(ray.get(ranks.actors[1].pid.remote()), signal.SIGKILL)
    with pytest.raises(RunError, match=r"RL605 trainer rank [01] died"):
        trainer.update(update)
    trainer.restart(tmp_path, version=1)
    again = trainer.logprobs("current", rows, ("logp_current",), CUTTING)["logp_current"]
    assert torch.equal(again, found["logp_current"])
    assert receiver.versions == [1, 1]
    ranks.end()
