"""The live loop over engines without a model: every schedule trains, every prompt once, and the journal says it all."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from functools import cache

import pytest

from rldsl.axes import discover
from rldsl.axes.control import Schedule
from rldsl.runtime import checkpoint, event_loop
from rldsl.runtime.answers import Answers
from rldsl.runtime.control import Terms, replay
from rldsl.runtime.errors import RunError
from rldsl.runtime.journal import kept_events, read_journal
from rldsl.runtime.run import Progress
from rldsl.runtime.simulation.machine import Costs, simulate
from rldsl.runtime.simulation.trace import recorded
from rldsl.runtime.trajectory import Request, SamplingOptions

from .fake_stream import FakeStream
from .fakes import events, plan_of, reads, run_of

STEPS = 6
SCHEDULES = sorted({(name, tuple(sorted(e.params.items()))) for name in discover.names("system")
                    if issubclass(discover.find("system", name), Schedule)
                    for e in discover.examples("system", name)})
every = pytest.mark.parametrize("name, params", SCHEDULES, ids=str)


def long_tailed(request, sibling) -> str:
    """Right or wrong, and now and then many times as long as usual."""
    return _long_tailed(request.group, sibling)


@cache
def _long_tailed(group: int, sibling: int) -> str:
    draw = random.Random(f"{group}/{sibling}")
    return draw.choice(("yes", "no")) + "." * draw.choice((0, 0, 1, 2, 3, 200))


def live(tmp_path, schedule, answer=long_tailed, *, sets=(), terms=None, axes=(), every_steps=100, **options):
    options = {"steps": STEPS, "problems": 200, **options}
    tmp_path.mkdir(exist_ok=True)
    plan = plan_of(tmp_path, *sets, **dict(axes))
    graph = plan.graph.without(["evaluate"]).change("checkpoint", options={"every": every_steps})
    run = run_of(plan, tmp_path / "run", answer, graph=graph, **options)
    run.schedule, run.terms = schedule, terms or Terms(4, 4, options["steps"])
    return run, FakeStream(answer)


def controls(run) -> list[dict]:
    return [e.data for e in read_journal(run.folder) if e.kind == "control"]


def drawn(run) -> Counter:
    return Counter((epoch, row) for e in kept_events(read_journal(run.folder)) if e.kind == "step"
                   for epoch, row, _ in e.data["prompts"])


@every
def test_every_schedule_trains_every_prompt_once(tmp_path, name, params):
    schedule = discover.find("system", name)(**dict(params))
    run, stream = live(tmp_path, schedule)
    event_loop.execute(run, stream, stall=5)
    assert run.progress.batch == STEPS and [e.data["step"] for e in events(run, "step")] == [*range(1, STEPS + 1)]
    assert set(drawn(run).values()) == {1}
    rows = [t for job in run.trainer.jobs for t in job.rows]
    assert set(Counter((t.group, t.sibling) for t in rows).values()) == {1}
    assert set(Counter(t.group for t in rows).values()) == {4}
    assert list(replay(schedule, controls(run))) == []
    assert stream.loads[-1] == STEPS and bool(stream.pauses > 1) == schedule.cuts()


@every
def test_versions_are_those_that_sampled_and_no_older_than_the_schedule_allows(tmp_path, name, params):
    schedule = discover.find("system", name)(**dict(params))
    run, stream = live(tmp_path, schedule)
    event_loop.execute(run, stream, stall=5)
    several = 0
    for job in run.trainer.jobs:
        trainer = reads(job, "trainer_version")[0]
        for t in job.rows:
            assert list(t.versions) == sorted(t.versions) and t.versions[-1] <= trainer
            assert schedule.lag() is None or trainer - t.versions[0] <= schedule.lag()
            several += len(set(t.versions)) > 1
    assert bool(several) == schedule.cuts()


PARTIAL = discover.find("system", "partial")
STREAM = discover.find("system", "stream")


def test_what_is_cut_goes_on_from_where_it_was(tmp_path):
    """Text and log-probs are whole although responses were stopped; cuts are counted."""
    run, stream = live(tmp_path, PARTIAL(0.5))
    event_loop.execute(run, stream, stall=5)
    for job in run.trainer.jobs:
        assert all("".join(map(chr, t.tokens)) == t.text == long_tailed(t, t.sibling) for t in job.rows)
    assert sum(e.data["metrics"].get("responses/cut", 0) for e in events(run, "step")) > 0


ENDLESS = "." * 10**6


@pytest.mark.parametrize("survives", [0, 1])
def test_what_is_cut_too_often_is_given_up(tmp_path, survives):
    """One response of every third prompt would never end."""
    def answer(request, sibling):
        return ENDLESS if request.group % 3 == 1 and sibling == 2 else long_tailed(request, sibling)

    run, stream = live(tmp_path, PARTIAL(0.5), answer, terms=Terms(4, 4, STEPS, survives=survives))
    event_loop.execute(run, stream, stall=5)
    lags = [reads(job, "trainer_version")[0] - t.versions[0] for job in run.trainer.jobs for t in job.rows]
    assert max(lags) <= survives
    retired = sum(e.data["metrics"].get("responses/retired", 0) for e in events(run, "step"))
    assert retired == sum(c["event"]["kind"] == "retired" for c in controls(run)) > 0
    assert set(drawn(run).values()) == {1}


def test_groups_that_a_filter_takes_are_replaced_and_told(tmp_path):
    """Every second prompt is answered alike by all."""
    def answer(request, sibling):
        return "yes" if request.group % 2 or sibling == 0 else "no"

    run, stream = live(tmp_path, STREAM(1), answer, axes={"sampling": "group(4, max_tokens: 4) | keep(mixed)"})
    event_loop.execute(run, stream, stall=5)
    trained = {t.group for job in run.trainer.jobs for t in job.rows}
    assert len(trained) == 4 * STEPS and not any(g % 2 for g in trained)
    assert {fate for e in events(run, "step") for *_, fate in e.data["prompts"]} == {"trained", "filtered"}
    assert set(drawn(run).values()) == {1}


@pytest.mark.parametrize("name", ["sync", "partial", "stream", "windowed"])
def test_refilling_ends_where_the_recipe_says(tmp_path, name):
    schedule = discover.find("system", name)(*([0.5] if name == "partial" else [1] if name == "stream" else []))
    short = "group(4, max_tokens: 4) | keep(mixed, max_rounds: 2, exhausted: short_batch)"
    never = lambda r, s: "yes" if r.group % 9 or s else "no"  # noqa: E731
    run, stream = live(tmp_path, schedule, never, axes={"sampling": short}, steps=3)
    event_loop.execute(run, stream, stall=5)
    assert run.progress.batch == 3
    strict = "group(4, max_tokens: 4) | keep(mixed, max_rounds: 2)"
    other, stream = live(tmp_path / "strict", schedule, never, axes={"sampling": strict}, steps=3)
    with pytest.raises(RunError) as caught:
        event_loop.execute(other, stream, stall=5)
    assert caught.value.diagnostic.code == "RL611"


def test_the_optimizer_begins_anew_where_the_schedule_says(tmp_path):
    for reset, times in (("never", 0), ("on_push", STEPS - 1)):
        run, stream = live(tmp_path / reset, STREAM(1, reset_optimizer=reset))
        event_loop.execute(run, stream, stall=5)
        assert run.trainer.forgotten == times


def test_weights_are_pushed_every_so_many_updates(tmp_path):
    """A batch gives two updates: three are reached with the second batch."""
    run, stream = live(tmp_path, STREAM(3))
    event_loop.execute(run, stream, stall=5)
    assert stream.loads == [0, 2, 4, 6]


def test_lent_devices_sample_only_while_nothing_trains(tmp_path):
    run, stream = live(tmp_path, STREAM(1))
    update, told = run.trainer.update, [None]

    def training(job):
        assert told[-1] is False
        return update(job)

    run.trainer.update, run.lend = training, told.append
    event_loop.execute(run, stream, stall=5)
    assert told == [None, True, *[False, True] * STEPS]


@pytest.mark.parametrize("name, params", [("stream", {"push_every": 1}), ("windowed", {"queue": 4})])
def test_training_goes_on_while_weights_are_sent(tmp_path, name, params):
    """An update begins between the export of weights and their arrival, wherever its batch is there, and does not get
    into them."""
    run, stream = live(tmp_path, discover.find("system", name)(**params))
    update, export, load, meanwhile = run.trainer.update, run.trainer.export, stream.load, []
    begun = threading.Event()

    def starting(job):
        begun.set()
        return update(job)

    def exported():
        begun.clear()
        return export()

    def slow(version, weights):
        meanwhile.append(begun.wait(0.3))
        return load(version, weights)

    run.trainer.update, run.trainer.export, stream.load = starting, exported, slow
    event_loop.execute(run, stream, stall=5)
    assert any(meanwhile) and not meanwhile[0] and not meanwhile[-1] and stream.loads == [*range(STEPS + 1)]
    assert stream.sent == [2 * version for version in stream.loads]


def test_one_source_at_a_time(tmp_path):
    run, stream = live(tmp_path, STREAM(1), terms=Terms(4, 4, STEPS, at_once=("source", 4)))
    for i, problem in enumerate(run.data.source):
        problem.metadata["source"] = "ab"[i % 2]
    event_loop.execute(run, stream, stall=5)
    assert stream.most <= 8 and set(drawn(run).values()) == {1}
    run, stream = live(tmp_path / "none", STREAM(1), terms=Terms(4, 4, STEPS, at_once=("source", 4)))
    with pytest.raises(RunError) as caught:
        event_loop.execute(run, stream, stall=5)
    assert caught.value.diagnostic.code == "RL407" and "source" in caught.value.diagnostic.message


def test_responses_that_take_long_are_no_stall(tmp_path):
    """Neither those that are trained nor answers to held-out problems, as long as they get longer."""
    run, stream = live(tmp_path, STREAM(1), lambda request, sibling: "yes" + "." * 60, steps=1)
    poll = stream.poll

    def slow(timeout):
        time.sleep(0.01)
        return poll(timeout)

    stream.poll = slow
    event_loop.execute(run, stream, stall=0.3)
    assert run.progress.batch == 1
    assert len(Answers(stream, 0.3).sample([Request(0, 0, (1,), 2)], SamplingOptions(1.0, 99), batch=-1)) == 2


def test_a_stall_says_what_is_waited_for(tmp_path):
    run, stream = live(tmp_path, STREAM(1))
    stream.poll = lambda timeout: []
    run.fresh = False
    with pytest.raises(RunError) as caught:
        event_loop.execute(run, stream, stall=0.2)
    assert caught.value.diagnostic.code == "RL604" and "16 responses in flight" in caught.value.diagnostic.message


def test_a_batch_that_trains_for_long_is_no_stall(tmp_path):
    run, stream = live(tmp_path, STREAM(1))
    update, slept = run.trainer.update, []

    def slow(job):
        if len(slept) < 1:
            slept.append(time.sleep(1.2))
        return update(job)

    run.trainer.update = slow
    event_loop.execute(run, stream, stall=0.8)
    assert slept and run.progress.batch == STEPS


def test_an_engine_that_answers_what_nobody_asked_is_refused(tmp_path):
    run, stream = live(tmp_path, STREAM(1))
    poll = stream.poll
    stream.poll = lambda timeout: [t for t in poll(timeout) for _ in range(2)] if stream.version >= 1 else poll(timeout)
    with pytest.raises(RunError) as caught:
        event_loop.execute(run, stream, stall=5)
    assert caught.value.diagnostic.code == "RL610"


@every
@pytest.mark.parametrize("at", [2, 4])
def test_a_resumed_run_trains_every_prompt_once(tmp_path, monkeypatch, name, params, at):
    """Killed when batch `at` is reported; the pool comes back from the last checkpoint, with what was written."""
    schedule = discover.find("system", name)(**dict(params))
    run, stream = live(tmp_path, schedule, every_steps=1)
    plain = run.record

    def dying(kind, **data):
        plain(kind, **data)
        if kind == "step" and data["step"] == at:
            raise KeyboardInterrupt

    run.record = dying
    with pytest.raises(KeyboardInterrupt):
        event_loop.execute(run, stream, stall=5)
    found = checkpoint.newest(run.checkpoints)
    assert found.step == at - 1
    again, stream = live(tmp_path, schedule, every_steps=1)
    again.fresh, again.progress = False, Progress.from_json(json.loads(json.dumps(found.state["progress"])))
    again.record("resume", step=found.step)
    event_loop.execute(again, stream, stall=5)
    assert again.progress.batch == STEPS and set(drawn(again).values()) == {1}
    assert list(replay(schedule, controls(again))) == []


@pytest.mark.parametrize("axes, schedule, terms, says", [
    ({"sampling": "group(4, max_tokens: 4) | snr(top: 0.5)"}, STREAM(1), {}, "compares the prompts of a batch"),
    ({"sampling": "group(4, max_tokens: 4) | oversample(2) | keep(mixed)"}, STREAM(1), {}, "more prompts are drawn"),
    ({"sampling": "greedy_baseline(max_tokens: 4)", "advantage": "remax"}, STREAM(1), {}, "greedily"),
    ({"sampling": "tree(2, 2, max_tokens: 4) | steps(every: 1)"}, STREAM(1), {}, "share their beginnings"),
    ({}, STREAM(1, resume="keep_state"), {}, "the engine's own state"), ({}, STREAM(1), {"versions": 2}, "2 versions"),
])
def test_what_needs_whole_batches_is_refused(tmp_path, axes, schedule, terms, says):
    run, stream = live(tmp_path, schedule, axes=axes, terms=Terms(4, 4, STEPS, **terms))
    with pytest.raises(RunError) as caught:
        event_loop.execute(run, stream)
    assert caught.value.diagnostic.code == "RL406" and says in caught.value.diagnostic.message
    assert not stream.loads


def test_held_out_problems_are_answered_between_pushes(tmp_path):
    run = run_of(plan_of(tmp_path), tmp_path / "run", long_tailed, steps=4, problems=40)
    run.schedule, run.terms = STREAM(1), Terms(4, 4, 4)
    event_loop.execute(run, FakeStream(lambda r, s: "yes" if r.group % 2 else "no"), stall=5)
    found = events(run, "evaluate")
    assert [e.data["step"] for e in found] == [0, 2, 4] and found[0].data["metrics"]["held_out/score"] == 0.5
    assert set(drawn(run).values()) == {1}


def test_a_recorded_run_can_be_simulated(tmp_path):
    """The responses keep their prompts and their times, so that a simulation of the same schedule does the same."""
    run, stream = live(tmp_path, PARTIAL(0.5))
    event_loop.execute(run, stream, stall=5)
    trace = recorded(run.folder, 0)
    finished = [c for c in controls(run) if c["event"]["kind"] == "finished"]
    whole = [g for g, n in Counter(c["event"].get("group", 0) for c in finished).items() if n == 4]
    assert sorted(n for _, n in trace.group(whole[0], 4)) == sorted(
        c["event"]["tokens"] for c in finished if c["event"].get("group", 0) == whole[0])
    assert trace.peak == 16 and trace.train > 0 and trace.push > 0 and trace.pause > 0
    m = simulate(PARTIAL(0.5), discover.find("system", "colocated")(), run.terms, Costs(trace.peak, trace.train), trace)
    assert len(m.batches) == STEPS and m.launched[0] >= 4 * 4
