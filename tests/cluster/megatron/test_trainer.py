"""The front over Ray actors: the same numbers as in one process, and a group that dies and comes back together."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest
import torch

from rldsl.backends.cluster.megatron.layout import Parallel
from rldsl.backends.cluster.ray_session import ray_session
from rldsl.backends.cluster.training.frozen_ranks import FrozenRanks
from rldsl.backends.cluster.training.rank import CriticSpec, PolicySpec, RankSpec
from rldsl.backends.cluster.training.ranks import Ranks, spawner, start
from rldsl.backends.cluster.training.trainer import ClusterTrainer
from rldsl.backends.cluster.weights import unpack
from rldsl.backends.local.formats.hf_weights import exported
from rldsl.backends.local.training.teachers import Teachers
from rldsl.runtime.errors import RunError
from rldsl.runtime.protocols import Cutting

from .updates import ADAMW, SAMPLING, embedded, job, load, made_rows, objective, spec_of

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
    with ray_session(None, 6):
        yield


def anywhere(name, spec) -> Ranks:
    """Ranks without a reserved place."""
    return Ranks(name, spec.parallel.ranks, spawner(spec, lambda number: "DEFAULT", 0))


def kill(ranks: Ranks) -> None:
    """Ends the process of the last rank."""
    import ray

    os.kill(ray.get(ranks.actors[-1].pid.remote()), signal.SIGKILL)


def test_the_front_trains_as_one_engine_and_comes_back_from_a_death(session, folders, tmp_path) -> None:
    """C-033: a rank that dies in a collective ends all, and all come back."""
    made, rows = objective(target=objective().advantage), made_rows()
    engine = embedded(folders["llama"], made, ADAMW, critic=(ADAMW, 1))
    spec = spec_of(Parallel(tensor=2), folders["llama"], "float32", made, SAMPLING, ADAMW, critic=(ADAMW, 1))
    receiver = Receiver()
    ranks = anywhere("trainer", spec)
    start([ranks])
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

    trainer.update(update)
    kill(ranks)
    with pytest.raises(RunError, match=r"RL605 trainer rank [01] died"):
        trainer.update(update)
    trainer.start()
    trainer.load(tmp_path, version=1)
    again = trainer.logprobs("current", rows, ("logp_current",), CUTTING)["logp_current"]
    assert torch.equal(again, found["logp_current"])
    assert receiver.versions == [1, 1]
    ranks.end()


def test_roles_with_ranks_of_their_own_give_the_numbers_of_one_engine(session, folders, tmp_path) -> None:
    """Reference, critic and two teachers apart, one of them under another layout; a frozen rank that dies is asked
    again, and the policy's ranks come back together with the critic's."""
    made, rows, told = objective(target=objective().advantage), made_rows(), []
    near, other = folders["near"], folders["llama_untied"]
    teachers = Teachers((load(near), load(other)), [1, 0, 1].__getitem__)
    engine = embedded(folders["llama"], made, ADAMW, critic=(ADAMW, 2), reference=near, teachers=teachers)
    one, two = (RankSpec(layout, "float32", SAMPLING) for layout in (Parallel(), Parallel(tensor=2)))
    apart = {"reference": replace(two, frozen={"reference": near}),
             "teacher-1": replace(one, frozen={"teacher-1": near}),
             "critic": replace(one, critic=CriticSpec(folders["llama"], ADAMW, 2))}
    policy = replace(one, policy=PolicySpec(folders["llama"], made, ADAMW), frozen={"teacher-2": other})
    groups = {name: anywhere(name, spec) for name, spec in {"trainer": policy, **apart}.items()}
    start(groups.values())
    receiver, names = Receiver(), ("teacher-1", "teacher-2")
    trainer = ClusterTrainer(
        groups["trainer"], receiver.load, "float32", teachers=Teachers(names, teachers.of),
        apart={n: FrozenRanks(groups[n], told.append) if spec.frozen else groups[n] for n, spec in apart.items()})
    update = job(made, rows, cutting=CUTTING, critic=True)

    def require_equal() -> None:
        for who in ("ref", "teacher"):
            ours, theirs = (e.logprobs(who, rows, (f"logp_{who}",), CUTTING)[f"logp_{who}"] for e in (trainer, engine))
            assert float((ours - theirs).abs().max()) < 1e-4, who
        assert float((trainer.values(rows, CUTTING) - engine.values(rows, CUTTING)).abs().max()) < 1e-4

    tally, expected = trainer.update(update), engine.update(update)
    assert tally.means() == pytest.approx(expected.means(), rel=1e-3, abs=1e-6)
    require_equal()
    trainer.publish()
    held = exported(engine.policy)
    assert max(float((receiver.tensors[n] - held[n]).abs().max()) for n in held) < 1e-5
    trainer.save(tmp_path)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["critic.rank-0000.pt", "critic.safetensors",
                                                          "policy.rank-0000.pt", "policy.safetensors"]

    for name in ("reference", "teacher-1"):
        kill(groups[name])
    require_equal()
    assert [d.message.split(" died")[0] for d in told] in (
        ["reference rank 1", "teacher-1 rank 0"], ["reference rank 0", "teacher-1 rank 0"])
    assert all(d.severity == "warning" and d.code == "RL605" and "from their folder" in d.why for d in told)
    kill(groups["critic"])
    with pytest.raises(RunError, match="RL605 critic rank 0 died"):
        trainer.update(update)
    assert not trainer.alive()
    trainer.start()
    trainer.load(tmp_path, version=1)
    require_equal()
    trainer.end()
    assert not any(group.actors for group in groups.values())
