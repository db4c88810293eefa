"""What the live loop must do in cases that once hurt somebody: engines that lose, repeat or re-write what they sampled,
kills between any two events; named after the public report's id."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest

from rldsl.axes import discover
from rldsl.runtime import checkpoint, event_loop
from rldsl.runtime.control import Terms, replay
from rldsl.runtime.errors import RunError
from rldsl.runtime.run import Progress
from tests.unit.runtime.fake_stream import FakeStream
from tests.unit.runtime.fakes import events, reads
from tests.unit.runtime.test_event_loop import controls, drawn, every, live

STREAM, PARTIAL = (discover.find("system", name) for name in ("stream", "partial"))
HE, LLO, HELLO = 1, 2, 3
TEXTS = {HE: "he", LLO: "llo", HELLO: "hello"}


class Spelling(FakeStream):
    """Writes hello as [he][llo], one token a poll. Where it `merges`, it decodes what it goes on from and encodes it
    again: [hello]."""

    merges = False

    def __init__(self, answer):
        super().__init__(answer)
        self.resumed = {}

    def start(self, requests, options, *, batch):
        self.resumed |= {(r.group, r.first): r.prefix.tokens for r in requests if r.prefix.tokens}
        super().start(requests, options, batch=batch)

    def poll(self, timeout):
        return [self._spelled(t) for t in super().poll(timeout)]

    def _spelled(self, t):
        ids = (HE, LLO) * (len(t.tokens) // 2)
        t = replace(t, tokens=ids, text="".join(TEXTS[i] for i in ids))
        if self.merges and len(self.resumed.get(t.key, ())) > 1:
            return replace(t, tokens=(HELLO, *ids[2:]), logps=t.logps[1:], versions=t.versions[1:])
        return t

    def pause(self):
        return [replace(r, prefix=replace(r.prefix, tokens=((HE, LLO) * 99)[:len(r.prefix.tokens)]))
                for r in super().pause()]


def said_over_and_over(request, sibling) -> str:
    """As many letters as tokens: two, or a hundred."""
    return "ab" * (50 if sibling == 3 and request.group % 2 else 1)


def test_c007_what_was_sampled_is_what_goes_on_and_what_is_trained(tmp_path) -> None:
    """[he][llo] and [hello] are one text: after a pause the sampled ids go out again, and they are what is trained."""
    run, _ = live(tmp_path, PARTIAL(0.5), said_over_and_over, steps=4)
    stream = Spelling(said_over_and_over)
    event_loop.execute(run, stream, stall=5)
    assert max(map(len, stream.resumed.values())) > 1
    rows = [t for job in run.trainer.jobs for t in job.rows]
    assert rows and all(t.tokens == (HE, LLO) * (len(t.tokens) // 2) and t.text.startswith("hello") for t in rows)
    assert {t.key for t in rows} & set(stream.resumed)


def test_c007_an_engine_that_writes_the_beginning_anew_is_refused(tmp_path) -> None:
    run, _ = live(tmp_path, PARTIAL(0.5), said_over_and_over, steps=4)
    stream = Spelling(said_over_and_over)
    stream.merges = True
    with pytest.raises(RunError) as caught:
        event_loop.execute(run, stream, stall=5)
    said = caught.value.diagnostic
    assert said.code == "RL610" and "another beginning" in said.message


@every
def test_c074_an_answer_that_is_lost_is_asked_for_again_or_named(tmp_path, name, params) -> None:
    """One response of 16 in flight never arrives: it is sampled again after a pause, or the run ends with its name."""
    schedule = discover.find("system", name)(**dict(params))
    run, stream = live(tmp_path, schedule)
    poll, lost = stream.poll, []

    def forgetful(timeout):
        found = poll(timeout)
        if stream.version >= 1 and found and not lost:
            lost.append(found.pop().key)
        return found

    stream.poll = forgetful
    try:
        event_loop.execute(run, stream, stall=2.0)
    except RunError as error:
        group, sibling = lost[0]
        assert error.diagnostic.code == "RL604" and f"{group}.{sibling} for " in error.diagnostic.message
    else:
        assert schedule.cuts() and set(drawn(run).values()) == {1}
        assert lost[0] in {t.key for job in run.trainer.jobs for t in job.rows}


def oldest(run) -> list[int]:
    """By update, the versions between the trainer and the oldest token that it learned from."""
    return [int(reads(job, "trainer_version")[0]) - min(v for t in job.rows for v in t.versions)
            for job in run.trainer.jobs]


def test_c061_the_bound_on_age_holds_behind_a_resume(tmp_path) -> None:
    """At most 2 versions old, 4 prompts a batch, killed at batch 10 and resumed: in flight are 12 prompts at most, and
    none that is trained in the next 50 batches is older."""
    axes = {"distribution": "admit(staleness: 2)", "ratio": "token(current / rollout)",
            "system": "stream(push_every: 1) on disaggregated(rollout: 1, train: 1)"}
    bounded = {"axes": axes, "every_steps": 1, "steps": 60, "problems": 400,
               "terms": Terms(4, 4, 60, admit=8)}
    run, stream = live(tmp_path, STREAM(1), **bounded)
    plain = run.record

    def dying(kind, **data):
        plain(kind, **data)
        if kind == "step" and data["step"] == 11:
            raise KeyboardInterrupt

    run.record = dying
    with pytest.raises(KeyboardInterrupt):
        event_loop.execute(run, stream, stall=5)
    found = checkpoint.newest(run.checkpoints)
    progress = Progress.from_json(json.loads(json.dumps(found.state["progress"])))
    launched = sum(action.get("prompts", 0) for action in progress.pool["pending"])
    assert found.step == 10 and 0 < progress.schedule["pool"] == len(progress.pool["groups"]) - 4 + launched <= 8
    again, stream = live(tmp_path, STREAM(1), **bounded)
    again.fresh, again.progress = False, progress
    again.record("resume", step=found.step)
    event_loop.execute(again, stream, stall=5)
    assert again.progress.batch == 60 and stream.most <= 12 * 4
    assert max(oldest(again)) <= 2
    assert set(drawn(again).values()) == {1} and list(replay(STREAM(1), controls(again))) == []
    free, stream = live(tmp_path / "free", STREAM(1), steps=20)
    event_loop.execute(free, stream, stall=5)
    assert max(oldest(free)) > 2, "without the bound older data must come for this to say anything"


@pytest.mark.parametrize("name", ["stream", "windowed", "one_step_off"])
@pytest.mark.parametrize("moment", range(3, 45, 6))
def test_c037_each_prompt_is_trained_once_whatever_was_in_flight(tmp_path, name, moment) -> None:
    """Prompts 0 to 7, two a batch, killed between two events of the journal and resumed: each is trained once."""
    schedule = discover.find("system", name)(*([1] if name == "stream" else []))
    eight = {"problems": 8, "steps": 4, "prompts": 2, "every_steps": 1, "terms": Terms(2, 4, 4)}
    run, stream = live(tmp_path, schedule, **eight)
    plain, left = run.record, [moment]

    def dying(kind, **data):
        plain(kind, **data)
        left[0] -= kind == "control"
        if left[0] == 0:
            raise KeyboardInterrupt

    run.record = dying
    with pytest.raises(KeyboardInterrupt):
        event_loop.execute(run, stream, stall=5)
    found = checkpoint.newest(run.checkpoints)
    again, stream = live(tmp_path, schedule, **eight)
    if found is not None:
        again.fresh, again.progress = False, Progress.from_json(json.loads(json.dumps(found.state["progress"])))
        again.trainer.load(found.folder, found.state["version"])
    again.record("resume", step=found.step if found else -1)
    event_loop.execute(again, stream, stall=5)
    assert drawn(again) == Counter({(0, row): 1 for row in range(8)})
    assert [e.data["step"] for e in events(again, "step")][-1] == 4
