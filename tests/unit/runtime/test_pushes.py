"""Pushes of an event loop to engines that serve several sets of weights: nothing is stopped, nothing is mixed."""

from __future__ import annotations

import json
import time

import pytest

from rldsl.axes import discover
from rldsl.runtime import checkpoint, event_loop
from rldsl.runtime.control import Terms, replay
from rldsl.runtime.run import Progress

from .fake_stream import FakeStream
from .fakes import events, plan_of, reads, run_of
from .test_event_loop import STEPS, STREAM, controls, drawn, live, long_tailed

OVERLAPPING = [("stream", {"push_every": 1}), ("stream", {"push_every": 3, "reset_optimizer": "on_push"}),
               ("windowed", {"queue": 4}), ("one_step_off", {})]
overlapping = pytest.mark.parametrize("name, params", OVERLAPPING, ids=str)


def serving(tmp_path, name, params, versions=2, **more):
    schedule = discover.find("system", name)(**params)
    run, stream = live(tmp_path, schedule, terms=Terms(4, 4, STEPS, versions=versions), **more)
    stream.serves = versions
    return run, stream


@overlapping
@pytest.mark.parametrize("versions", [2, 3])
def test_a_push_stops_nothing_and_each_response_has_one_version(tmp_path, name, params, versions):
    run, stream = serving(tmp_path, name, params, versions)
    event_loop.execute(run, stream, stall=5)
    rows = [t for job in run.trainer.jobs for t in job.rows]
    assert set(drawn(run).values()) == {1} and all(len(set(t.versions)) == 1 for t in rows)
    assert stream.pauses == 1, "the run's end"
    assert stream.crowded <= min(versions, (run.schedule.lag() or versions) + 1)
    assert run.rollout is stream and stream.loads == sorted(set(stream.loads)) and stream.loads[-1] == STEPS
    assert stream.sent == [2 * version for version in stream.loads], "weights that the trainer went on from"
    assert list(replay(run.schedule, controls(run))) == []
    for job in run.trainer.jobs:
        assert all(t.versions[0] <= reads(job, "trainer_version")[0] for t in job.rows)


def test_a_push_waits_where_every_set_is_in_use(tmp_path):
    """One response of the first weights and one of the second are endless: the second push waits for one of them, the
    first does not."""
    endless: dict[int | None, tuple[int, int]] = {}
    going = {"on": True}

    def answer(request, sibling):
        key = request.group, sibling
        if going["on"] and (version := stream.held.get(key)) in (0, 1):
            endless.setdefault(version, key)
        if key in endless.values():
            return "." * (10**6 if going["on"] else len(request.prefix.tokens) + 1)
        return "yes" if sibling else "no"

    run, stream = serving(tmp_path, "stream", {"push_every": 1}, steps=4)
    stream.answer = answer
    poll, since = stream.poll, []

    def watched(timeout):
        if not stream.free:
            since.append(time.monotonic())
        if since and time.monotonic() - since[0] > 0.4:
            assert not going["on"] or stream.loads == [0, 1], "a third set of weights was loaded"
            going["on"] = False
        return poll(timeout)

    stream.poll = watched
    event_loop.execute(run, stream, stall=5)
    assert since and stream.loads[-1] == 4 and run.progress.batch == 4


def test_the_trainer_and_the_sampler_go_on_while_weights_travel(tmp_path):
    """New responses begin under the weights before, between the sending and the arrival of the next ones."""
    run, stream = serving(tmp_path, "stream", {"push_every": 1}, versions=3)
    send, load, start, meanwhile = stream.send, stream.load, stream.start, []
    state = {"sent": False}

    def sent(version, weights):
        state["sent"] = True
        send(version, weights)
        stream.way = 400 if not any(meanwhile) else 3  # until something begins, or seconds

    def loaded(version, weights):
        state["sent"] = False
        return load(version, weights)

    def started(requests, options, *, batch):
        meanwhile.append(state["sent"])
        stream.way = min(stream.way, 3)
        return start(requests, options, batch=batch)

    stream.send, stream.load, stream.start = sent, loaded, started
    event_loop.execute(run, stream, stall=5)
    assert any(meanwhile) and stream.pauses == 1


def test_held_out_problems_are_answered_by_the_newest_beside_what_is_in_flight(tmp_path):
    run = run_of(plan_of(tmp_path), tmp_path / "run", long_tailed, steps=4, problems=40)
    run.schedule, run.terms = STREAM(1), Terms(4, 4, 4, versions=2)
    stream = FakeStream(long_tailed, serves=2)
    asked, plain = [], stream.sample

    def sample(requests, options, *, batch, greedy=False):
        asked.append((stream.version, -1 - batch, len(stream.flight)))
        return plain(requests, options, batch=batch, greedy=greedy)

    stream.sample = sample
    event_loop.execute(run, stream, stall=5)
    assert [e.data["step"] for e in events(run, "evaluate")] == [0, 2, 4]
    assert all(version == step for version, step, _ in asked) and asked[1][2] > 0
    assert set(drawn(run).values()) == {1}


@overlapping
@pytest.mark.parametrize("at", [2, 4])
def test_a_resumed_run_trains_every_prompt_once(tmp_path, name, params, at):
    """What was under way is begun again, by the weights that the trainer then has."""
    run, stream = serving(tmp_path, name, params, every_steps=1)
    _killed(run, stream, at)
    again, stream = serving(tmp_path, name, params, every_steps=1)
    _restored(again)
    event_loop.execute(again, stream, stall=5)
    rows = [t for job in again.trainer.jobs for t in job.rows]
    assert again.progress.batch == STEPS and set(drawn(again).values()) == {1}
    assert all(len(set(t.versions)) == 1 for t in rows) and stream.pauses == 1 and stream.loads[0] == at - 1
    assert list(replay(again.schedule, controls(again))) == []


def test_weights_that_a_resume_exports_anew_are_as_old_as_they_are(tmp_path):
    """An export of batch 2 waits, as batch 3 is handed over with a checkpoint; a resume has weights of batch 3 to send,
    so the next push is due four updates later, with batch 5, and not with batch 4."""
    def slow_once(request, sibling):
        return "." * 4000 if (request.group, sibling) == (11, 0) else long_tailed(request, sibling)

    schedule = STREAM(4, interrupt="finish")
    run, stream = live(tmp_path, schedule, slow_once, every_steps=1, steps=8)
    keep, exported = event_loop.EventLoop._keep, []

    def kept(self, action):
        keep(self, action)
        if self.state["exported"] and self.state["updates"]:
            exported.append(self.run.progress.batch)
            raise KeyboardInterrupt

    event_loop.EventLoop._keep = kept
    try:
        with pytest.raises(KeyboardInterrupt):
            event_loop.execute(run, stream, stall=5)
    finally:
        event_loop.EventLoop._keep = keep
    at, = exported
    again, stream = live(tmp_path, schedule, slow_once, every_steps=1, steps=8)
    _restored(again)
    event_loop.execute(again, stream, stall=5)
    assert stream.loads[:2] == [at, at] and stream.loads[2] == at + 2
    assert list(replay(schedule, controls(again))) == []


def _killed(run, stream, at):
    plain = run.record

    def dying(kind, **data):
        plain(kind, **data)
        if kind == "step" and data["step"] == at:
            raise KeyboardInterrupt

    run.record = dying
    with pytest.raises(KeyboardInterrupt):
        event_loop.execute(run, stream, stall=5)


def _restored(run):
    found = checkpoint.newest(run.checkpoints)
    run.fresh, run.progress = False, Progress.from_json(json.loads(json.dumps(found.state["progress"])))
    run.trainer.load(found.folder, found.state["version"])
    run.record("resume", step=found.step)
