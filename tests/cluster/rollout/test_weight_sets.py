"""Two places of two engines each: a set of weights in every place, pushes that stop nothing, deaths inside a set."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter

import pytest
import ray

from rldsl.backends.cluster.placement import Role, reserve
from rldsl.backends.cluster.rollout import engine_process
from rldsl.backends.cluster.rollout.rollouts import Rollouts
from rldsl.backends.cluster.rollout.streams import EngineSpec
from rldsl.runtime.errors import RunError
from tests.cluster import models

from .actors import Faulty
from .test_rollouts import LONG, NEW, OLD, OPTIONS, gap, pids, published, requests

THIRD = models.build("llama", 3)


@pytest.fixture(scope="module")
def double(cluster, tmp_path_factory):
    """Engines 0 and 2 are of one set, 1 and 3 of the other; 2 and 3 are on lent devices. What was told, and the pushes
    that counted."""
    folder = models.save(OLD, tmp_path_factory.mktemp("model") / "model")
    spec = EngineSpec(str(folder), models.Letters(), models.VOCABULARY, "float32", models.CONTEXT, 5,
                      cache_bytes=1 << 26, sets=2)
    place = reserve((Role("rollout", 1), Role("lent", 1)))
    said, pushes = [], []
    rollouts = Rollouts(spec, 2, engine_process.spawner(spec, place, Faulty), said.append,
                        lambda *push: pushes.append(push), 60.0, lent=1)
    rollouts.load(0, published(OLD))
    yield rollouts, said, pushes
    rollouts.close()
    ray.util.remove_placement_group(place.group)


def under_way(rollouts, version):
    """Of the set that holds a version, in both places."""
    return [len(e.under_way) for e in rollouts._engines if e.holds.version == version and e.holds.weights]


def misbehave(rollouts, how, version=None):
    """All engines, or those whose set holds a version."""
    ray.get([e.actor.misbehave.remote(how) for e in rollouts._engines if version in (None, e.holds.version)])


def sent(rollouts, version, model):
    """Weights that were sent, and arrive while others sample."""
    weights = published(model)
    rollouts.send(version, weights)
    until = time.monotonic() + 30
    while not rollouts.arrived and time.monotonic() < until:
        rollouts._gather(0.01)
    return rollouts.load(version, weights) == weights.manifest.fingerprint


def ended(rollouts, done, number):
    while len(done) < number:
        done += rollouts.poll(10.0)
    return done


def test_each_response_is_ended_by_the_weights_that_began_it(double):
    """New ones go to the newest set; held-out answers too, beside what is in flight; the third push waits for place."""
    rollouts, said, pushes = double
    assert rollouts.serves == 2 and rollouts.free and rollouts.version == 0
    misbehave(rollouts, "slow")
    rollouts.start(requests(4), LONG, batch=0)
    assert under_way(rollouts, 0) == [8, 8]
    assert rollouts.free and sent(rollouts, 1, NEW) and rollouts.version == 1
    rollouts.start(requests(4, first=4), LONG, batch=1)
    assert under_way(rollouts, 1) == [8, 8] and sum(under_way(rollouts, 0)) and not rollouts.free
    misbehave(rollouts, "")
    held_out = rollouts.sample(requests(2, first=20), OPTIONS, batch=-1)
    assert gap(NEW, held_out) < 1e-4 and {v for t in held_out for v in t.versions} == {1}
    done = []
    while not rollouts.free:
        done += rollouts.poll(10.0)
    assert sent(rollouts, 2, THIRD)
    rollouts.start(requests(2, first=8), OPTIONS, batch=2)
    ended(rollouts, done, 40)
    assert Counter(t.group for t in done) == Counter({g: 4 for g in range(10)})
    for version, model, mine in ((0, OLD, range(4)), (1, NEW, range(4, 8)), (2, THIRD, range(8, 10))):
        rows = [t for t in done if t.group in mine]
        assert {v for t in rows for v in t.versions} == {version} and gap(model, rows) < 1e-4
    assert [p[0] for p in pushes] == [0, 1, 2] and not said


def test_lent_devices_give_and_take_within_a_set(double):
    """Responses under way are shared out again when the devices come back, and stay with their weights."""
    rollouts, _, _ = double
    misbehave(rollouts, "slow")
    rollouts.start(requests(3), LONG, batch=3)
    assert sum(under_way(rollouts, 2)) == 12 and sent(rollouts, 3, OLD)
    rollouts.start(requests(2, first=3), LONG, batch=3)
    done = rollouts.poll(0.2)
    rollouts.lend(False)
    before = {v: under_way(rollouts, v) for v in (2, 3)}
    assert all(own and not lent for own, lent in before.values())
    rollouts.lend(True)
    for version, (all_of_them, _) in before.items():
        own, lent = under_way(rollouts, version)
        assert 0 < lent and own <= (all_of_them + 1) // 2, "the set's other engine has its share"
    misbehave(rollouts, "")
    ended(rollouts, done, 20)
    assert sorted((t.group, t.sibling) for t in done) == [(g, s) for g in range(5) for s in range(4)]
    for version, model, mine in ((2, THIRD, range(3)), (3, OLD, range(3, 5))):
        rows = [t for t in done if t.group in mine]
        assert {v for t in rows for v in t.versions} == {version} and gap(model, rows) < 1e-4


def test_a_refused_push_leaves_the_version_before_and_what_is_in_flight(double):
    """C-063."""
    rollouts, said, pushes = double
    rollouts.start(requests(2), LONG, batch=4)
    misbehave(rollouts, "reject", 2)
    with pytest.raises(RunError, match="RL616"):
        rollouts.load(4, published(NEW))
    assert rollouts.version == 3 and [p[0] for p in pushes] == [0, 1, 2, 3]
    misbehave(rollouts, "")
    rollouts.start(requests(1, first=2), OPTIONS, batch=4)
    done = ended(rollouts, [], 12)
    assert {v for t in done for v in t.versions} == {3} and gap(OLD, done) < 1e-4
    said.clear()


def test_a_killed_engine_comes_back_with_the_weights_of_its_set(double):
    """C-033: what it had is sampled again by the version that began it, token for token the same; a push that finds it
    starting has it load both."""
    rollouts, said, _ = double
    wanted = rollouts.sample(requests(4), LONG, batch=5)
    misbehave(rollouts, "slow")
    rollouts.start(requests(4), LONG, batch=5)
    busy = next(e for e in rollouts._engines if e.under_way)
    assert sent(rollouts, 5, NEW), "beside it"
    os.kill(dict(zip([e.index for e in rollouts._engines], pids(rollouts), strict=True))[busy.index], signal.SIGKILL)
    ray.get([e.actor.misbehave.remote("") for e in rollouts._engines if e is not busy])
    rollouts.start(requests(2, first=8), OPTIONS, batch=5)
    done = ended(rollouts, [], 24)
    old = {(t.group, t.sibling): t for t in done if t.group < 8}
    assert {k: t.tokens for k, t in old.items()} == {(t.group, t.sibling): t.tokens for t in wanted}
    assert {v for t in old.values() for v in t.versions} == {3} and [d.code for d in said] == ["RL605"]
    assert gap(NEW, [t for t in done if t.group >= 8]) < 1e-4
    assert sent(rollouts, 6, THIRD), "the dead one's set is the oldest"
    assert all(e.starting is None for e in rollouts._engines)
    found = rollouts.sample(requests(4), OPTIONS, batch=6)
    assert gap(THIRD, found) < 1e-4 and {v for t in found for v in t.versions} == {6}
