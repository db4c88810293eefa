"""Two engines behind one front: shared work, deaths, refused weights, garbage, silence. Processes really are killed."""

from __future__ import annotations

import os
import signal
import time

import pytest
import ray
import torch

from rldsl.backends.cluster.placement import reserve
from rldsl.backends.cluster.rollout import engine_process
from rldsl.backends.cluster.rollout.rollouts import Rollouts
from rldsl.backends.cluster.rollout.streams import EngineSpec
from rldsl.backends.cluster.weights import Weights, pack
from rldsl.compiler.roles import Role
from rldsl.runtime.errors import RunError
from rldsl.runtime.trajectory import Prefix, Request, SamplingOptions
from tests.cluster import models

from .actors import Faulty

OPTIONS = SamplingOptions(temperature=1.0, max_tokens=24)
LONG = SamplingOptions(temperature=1.0, max_tokens=200)
OLD, NEW = models.build("llama", 1), models.build("llama", 2)


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    folder = models.save(OLD, tmp_path_factory.mktemp("model") / "model")
    return EngineSpec(str(folder), models.Letters(), models.VOCABULARY, "float32", models.CONTEXT, 5,
                      cache_bytes=1 << 26, keeps=True)


@pytest.fixture(scope="module")
def place(cluster):
    return reserve((Role("rollout", 1), Role("lent", 1)))


def published(model) -> Weights:
    manifest, flat = pack(models.weights(model), "float32")
    return Weights(manifest, ray.put(flat))


def requests(groups, siblings=4, first=0):
    return [Request(g, g, (*range(20, 40), g), siblings) for g in range(first, first + groups)]


def gap(model, rows):
    return float((models.logps(model, rows) - torch.tensor([x for r in rows for x in r.logps])).abs().max())


def pids(rollouts):
    return [ray.get(e.actor.pid.remote()) for e in rollouts._engines]


def misbehave(rollouts, how):
    """Only the second engine."""
    ray.get(rollouts._engines[1].actor.misbehave.remote(how))


def until_replaced(rollouts):
    while rollouts._engines[1].starting is not None:
        rollouts._gather(1.0)


@pytest.fixture(scope="module")
def pair(spec, place):
    """Two engines that hold version 0, one of them on lent devices, and what was told of them."""
    said = []
    rollouts = Rollouts(spec, 2, engine_process.spawner(spec, place, Faulty), said.append, lambda *_: None, 60.0,
                        lent=1)
    rollouts.load(0, published(OLD))
    yield rollouts, said
    rollouts.close()


def test_work_is_shared_and_answers_come_in_the_order_of_asking(pair):
    """C-087: every response belongs to its own prompt, whichever engine gave it."""
    rollouts, _ = pair
    found = rollouts.sample(requests(6), OPTIONS, batch=0)
    assert [(t.group, t.sibling) for t in found] == [(g, s) for g in range(6) for s in range(4)]
    assert gap(OLD, found) < 1e-4 and {v for t in found for v in t.versions} == {0}
    assert [t.tokens for t in rollouts.sample(requests(6), OPTIONS, batch=0)] == [t.tokens for t in found]
    assert [t.tokens for t in rollouts.sample(requests(6), OPTIONS, batch=1)] != [t.tokens for t in found]
    rollouts.start(requests(6), LONG, batch=0)
    assert [len(e.under_way) for e in rollouts._engines] == [12, 12]
    rollouts.pause()


def test_streams_are_paused_pushed_and_taken_up_again(pair):
    """C-060: a response over a push has both versions, each token its own."""
    rollouts, _ = pair
    rollouts.start(requests(4), LONG, batch=2)
    done = rollouts.poll(0.2)
    held = rollouts.pause()
    done += rollouts.poll(0.0)
    assert len(done) + len(held) == 16 and all(r.prefix.tokens for r in held)
    assert rollouts.load(1, published(NEW)) == published(NEW).manifest.fingerprint and rollouts.version == 1
    rollouts.start(held, LONG, batch=2)
    while len(done) < 16:
        done += rollouts.poll(10.0)
    assert sorted((t.group, t.sibling) for t in done) == [(g, s) for g in range(4) for s in range(4)]
    resumed = [t for t in done if 1 in t.versions]
    assert len(resumed) == len(held) and all(t.versions[0] == 0 and list(t.versions) == sorted(t.versions)
                                             for t in resumed)
    rollouts.load(2, published(OLD))


def test_what_lent_devices_had_goes_on_elsewhere(pair):
    rollouts, _ = pair
    rollouts.start(requests(4), LONG, batch=4)
    done = rollouts.poll(0.2)
    rollouts.lend(False)
    assert [bool(e.under_way) for e in rollouts._engines] == [True, False]
    moved = [s.request.prefix.tokens for s in rollouts._engines[0].under_way.values() if s.request.prefix.tokens]
    rollouts.start(requests(2, first=4), OPTIONS, batch=4)
    assert not rollouts._engines[1].under_way
    while len(done) < 24:
        done += rollouts.poll(10.0)
    assert sorted((t.group, t.sibling) for t in done) == [(g, s) for g in range(6) for s in range(4)]
    assert moved and all(any(t.tokens[:len(m)] == m for t in done) for m in moved) and gap(OLD, done) < 1e-4
    rollouts.start(requests(4), LONG, batch=5)
    assert [len(e.under_way) for e in rollouts._engines] == [16, 0]
    rollouts.lend(True)
    first, second = (len(e.under_way) for e in rollouts._engines)
    assert 0 < second and first <= 8, "what is under way is shared out again"
    done = []
    while len(done) < 16:
        done += rollouts.poll(10.0)
    assert sorted((t.group, t.sibling) for t in done) == [(g, s) for g in range(4) for s in range(4)]
    assert gap(OLD, done) < 1e-4


def test_a_killed_engine_costs_its_own_streams_and_they_are_sampled_again(pair):
    """C-033: kill −9 in the middle of a batch; what it was busy with is sampled again, token for token the same."""
    rollouts, said = pair
    wanted = rollouts.sample(requests(4), LONG, batch=3)
    rollouts.start(requests(4), LONG, batch=3)
    done, before = rollouts.poll(0.1), pids(rollouts)
    os.kill(before[1], signal.SIGKILL)
    while len(done) < 16:
        done += rollouts.poll(10.0)
    found = {(t.group, t.sibling): t.tokens for t in done}
    assert found == {(t.group, t.sibling): t.tokens for t in wanted}
    assert [(d.code, d.severity) for d in said] == [("RL605", "warning")] and "rollout engine 1 died" in said[0].message
    until_replaced(rollouts)
    after = pids(rollouts)
    assert after[0] == before[0] and after[1] != before[1]
    assert gap(OLD, rollouts.sample(requests(4), OPTIONS, batch=4)) < 1e-4


def test_a_stopped_engine_is_an_error_after_the_deadline(pair):
    rollouts, _ = pair
    rollouts.deadline, pid = 2.0, pids(rollouts)[0]
    os.kill(pid, signal.SIGSTOP)
    try:
        rollouts.start(requests(4), LONG, batch=5)
        begun = time.monotonic()
        with pytest.raises(RunError, match="RL604") as caught:
            while True:
                rollouts.poll(1.0)
        assert time.monotonic() - begun < 8
        assert "rollout engine 0" in str(caught.value) and "under way" in str(caught.value)
    finally:
        os.kill(pid, signal.SIGCONT)
    rollouts.deadline = 60.0
    rollouts.pause()


def test_an_answer_that_is_lost_is_named_after_the_deadline(pair):
    """C-074: the engine goes on, one of its answers never arrives; what is waited for has a name."""
    rollouts, _ = pair
    misbehave(rollouts, "forget")
    rollouts.deadline, begun = 2.0, time.monotonic()
    with pytest.raises(RunError, match="RL604") as caught:
        rollouts.sample(requests(1, siblings=8, first=9), OPTIONS, batch=5)
    assert time.monotonic() - begun < 10
    lost = next(iter(rollouts._engines[1].under_way.values())).request
    assert "rollout engine 1" in str(caught.value) and f"1 responses are under way, 9.{lost.first}" in str(caught.value)
    rollouts.deadline = 60.0
    rollouts.pause()


def test_weights_that_one_engine_refuses_count_for_none(pair):
    """C-063: of two engines one rejects the push, twice; no token is sampled under the new version."""
    rollouts, said = pair
    said.clear()
    assert rollouts.version == 2
    misbehave(rollouts, "reject")
    with pytest.raises(RunError, match="RL616") as caught:
        rollouts.load(3, published(NEW))
    assert "rollout engine 1" in str(caught.value) and rollouts.version == 2
    assert [(d.code, d.severity) for d in said] == [("RL616", "warning")]
    misbehave(rollouts, "")
    found = rollouts.sample(requests(4), OPTIONS, batch=6)
    assert gap(OLD, found) < 1e-4 and {v for t in found for v in t.versions} == {2}


def test_weights_that_are_damaged_on_their_way_are_sent_again(pair):
    """C-063: the second try counts, and is told."""
    rollouts, said = pair
    said.clear()
    for version, model in ((3, NEW), (4, OLD)):
        misbehave(rollouts, "reject once")
        assert rollouts.load(version, published(model)) == published(model).manifest.fingerprint
        found = rollouts.sample(requests(4), OPTIONS, batch=6)
        assert gap(model, found) < 1e-4 and {v for t in found for v in t.versions} == {version}
    assert [d.code for d in said] == ["RL616"] * 2 and "once more" in said[0].why


WRONG = {0: ("RL617", "1000000"), 1: ("RL601", "not finite"), 2: ("RL617", "above 1"), 3: ("RL617", "prompt"),
         4: ("RL617", "abort"), 5: ("RL617", "length"), 6: ("RL617", "another beginning")}


def test_garbage_is_refused_by_name(pair):
    """C-087: another prompt; C-007: a beginning that was not sampled as it stands; and what nobody can sample."""
    rollouts, _ = pair
    misbehave(rollouts, "garble")
    sound, rollouts._engines = rollouts._engines, rollouts._engines[1:]
    engine = rollouts._engines[0]
    for sibling, (code, word) in WRONG.items():
        begun = Prefix((50,), (-1.0,), (0,)) if sibling == 6 else Prefix()
        one = [Request(7, 7, (*range(20, 40), 7), 1, first=sibling, prefix=begun)]
        with pytest.raises(RunError, match=code) as caught:
            rollouts.sample(one, SamplingOptions(temperature=1.0, max_tokens=3), batch=sibling)
        assert word in str(caught.value) and f"response 7.{sibling}" in str(caught.value)
        engine.under_way.clear()
    with pytest.raises(RunError, match="RL617"):
        rollouts.sample([Request(8, 8, (1, 2, 3), 1)], OPTIONS, batch=9)
    engine.under_way.clear()
    rollouts._engines = sound
    misbehave(rollouts, "")


def test_an_engine_that_dies_during_a_push_comes_back_with_the_new_weights(pair):
    """What finds no engine meanwhile is sampled once there is one, also where another push comes first."""
    rollouts, said = pair
    said.clear()
    misbehave(rollouts, "die")
    rollouts.load(5, published(NEW))
    assert rollouts.version == 5 and "rollout engine 1 died" in said[0].message
    both, rollouts._engines = rollouts._engines, rollouts._engines[1:]
    rollouts.start(requests(2), OPTIONS, batch=0)
    assert rollouts._engines[0].starting is not None and not rollouts._engines[0].under_way
    rollouts.load(5, published(NEW))
    done = []
    while len(done) < 8:
        done += rollouts.poll(10.0)
    rollouts._engines = both
    found = rollouts.sample(requests(4), OPTIONS, batch=0)
    assert gap(NEW, found) < 1e-4 and {v for t in found for v in t.versions} == {5}


def test_kept_state_is_taken_up_where_it_is_and_dies_with_its_engine(pair):
    rollouts, _ = pair
    rollouts.start(requests(4), LONG, batch=10)
    done = rollouts.poll(0.2)
    held = rollouts.pause()
    done += rollouts.poll(0.0)
    keeper = {place[1:]: engine.index for place, engine in rollouts._kept.items()}
    assert len(keeper) == len(held) and set(keeper.values()) == {0, 1}
    os.kill(pids(rollouts)[0], signal.SIGKILL)
    rollouts.load(6, published(OLD))
    rollouts.start(held, LONG, batch=10)
    while len(done) < 16:
        done += rollouts.poll(10.0)
    again = [t for t in done if list(t.versions).count(6) > 20]
    kept, lost = ([t for t in again if keeper[t.group, t.sibling] == index] for index in (1, 0))
    assert min(later(OLD, [t]) for t in kept) > 0.5, "over keys and values of the weights before"
    assert later(OLD, lost) < 1e-4, "computed again"


def later(model, rows):
    """The gap over tokens of version 6."""
    new = torch.tensor([v == 6 for r in rows for v in r.versions])
    return float((models.logps(model, rows) - torch.tensor([x for r in rows for x in r.logps]))[new].abs().max())


def test_an_engine_that_never_takes_its_weights_is_an_error_after_the_deadline(pair):
    rollouts, _ = pair
    misbehave(rollouts, "sleep")
    rollouts.deadline = 2.0
    with pytest.raises(RunError, match="RL604") as caught:
        rollouts.load(7, published(NEW))
    assert "version 7 was sent" in str(caught.value)
