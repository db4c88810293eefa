"""Sampling one by one in a thread: the same tokens as in one go, per-token versions, and real training around it."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from rldsl.axes.discover import find
from rldsl.backends.local import launch
from rldsl.backends.local.decoder.numerics import numerics
from rldsl.backends.local.engine import LocalEngine, fingerprint
from rldsl.backends.local.load import load_policy
from rldsl.backends.local.sampling.sampler import sample
from rldsl.backends.local.sampling.stream import LocalStream
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.plan import Plan, from_json, to_json
from rldsl.compiler.resolve import resolve
from rldsl.diagnostics import RecipeError
from rldsl.runtime import event_loop, executor
from rldsl.runtime.control import Terms, replay
from rldsl.runtime.errors import RunError
from rldsl.runtime.journal import kept_events, read_journal
from rldsl.runtime.recover import execute_through_deaths
from rldsl.runtime.trajectory import Request, SamplingOptions

RECIPE = """recipe live {
  feedback     = verify(exact) + overlong(max: 120, buffer: 120)
  sampling     = group(2, max_tokens: 120)
  advantage    = group_mean
  ratio        = token(current / rollout)
  gate         = clip(0.2)
  reduction    = token_mean
  distribution = on_policy
  system       = sync on colocated
  model    { policy: "toy:llama-1x32", dtype: fp32 }
  data     { train: "toy:largest", prompts: 4 }
  optim    { adamw(lr: 1e-3), updates_per_batch: 2 }
  budget   { steps: 4 }
  evaluate { "toy:largest", every: 3, problems: 2 }
}
"""
CUT = RECIPE.replace("sync on", "partial(0.5) on").replace("on_policy", "max_lag(8)")
MODEL, STEPS = "toy:llama-1x32", 4
OPTIONS = SamplingOptions(temperature=1.0, max_tokens=12)
SCHEDULES = [("one_step_off", {}), ("partial", {"fraction": 0.5}),
             ("stream", {"push_every": 2}), ("windowed", {"width": 0.5})]


class Attended(LocalStream):
    """Samples only while somebody polls: on a busy machine much would end between an event and what it decides."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._held = 1

    def poll(self, timeout):
        self._hold(-1)
        try:
            return super().poll(timeout)
        finally:
            self._hold(1)

    def _hold(self, more: int) -> None:
        with self._changed:
            self._held += more
            self._changed.notify_all()


def twin(seed: int = 3):
    policy, _ = load_policy(MODEL, "float32", seed=seed, device="cpu")
    return policy


def ask(stream: LocalStream, count: int) -> list:
    found, end = [], time.monotonic() + 20
    while len(found) < count and time.monotonic() < end:
        found += stream.poll(0.5)
    return sorted(found, key=lambda t: (t.group, t.sibling))


REQUESTS = [Request(g, g, tuple(range(5, 9 + g)), 3) for g in range(3)]


def test_piece_by_piece_and_with_a_pause_the_tokens_are_the_same() -> None:
    whole = sample(twin(), REQUESTS, OPTIONS, seed=1, batch=0, version=0)
    with LocalStream(twin(), 1, piece=2) as stream:
        stream.start(REQUESTS, OPTIONS, batch=0)
        early = stream.poll(0.5)
        stopped = stream.pause()
        assert {(r.group, r.first) for r in stopped}.isdisjoint((t.group, t.sibling) for t in early)
        early += stream.poll(0.0)
        assert not stream.poll(0.1)
        stream.start(stopped, OPTIONS, batch=0)
        found = sorted([*early, *ask(stream, 9 - len(early))], key=lambda t: (t.group, t.sibling))
    assert [t.tokens for t in found] == [t.tokens for t in whole]
    for a, b in zip(found, whole, strict=True):
        assert a.logps == pytest.approx(b.logps, abs=1e-5) and a.finish == b.finish and a.text == b.text


def test_candidates_of_every_piece_stay() -> None:
    policy, cut = twin(), replace(OPTIONS, top_k=4)
    policy.numerics = numerics({"replay_candidates": True})
    whole = sample(policy, REQUESTS, cut, seed=1, batch=0, version=0)
    with LocalStream(policy, 1, piece=2) as stream:
        stream.start(REQUESTS, cut, batch=0)
        found = ask(stream, 9)
    assert max(len(t.tokens) for t in found) > 2
    assert [[set(ids) for ids in t.candidates] for t in found] == [[set(ids) for ids in t.candidates] for t in whole]


def test_what_goes_on_under_new_weights_says_which_token_is_whose() -> None:
    long = SamplingOptions(temperature=1.0, max_tokens=200)
    with LocalStream(twin(), 1, piece=2) as stream:
        begun = stream.moved
        stream.start(REQUESTS, long, batch=0)
        while stream.moved == begun:  # until a first piece is there
            time.sleep(0.001)
        stopped = stream.pause()
        before = {(r.group, r.first): r.prefix for r in stopped}
        other = twin(seed=4)
        assert stream.load(5, other.state_dict()) == fingerprint(other)
        stream.start(stopped, long, batch=0)
        found = [t for t in ask(stream, 9) if (t.group, t.sibling) in before]
    assert any(before[t.group, t.sibling].tokens for t in found)
    for t in found:
        p = before[t.group, t.sibling]
        n = len(p.tokens)
        assert t.tokens[:n] == p.tokens and t.logps[:n] == p.logps
        assert t.versions == (0,) * n + (5,) * (len(t.tokens) - n)


def test_what_the_sampler_raises_is_raised_by_the_next_poll() -> None:
    with LocalStream(twin(), 1) as stream:
        with pytest.raises(RecipeError, match="context"):
            stream.start([Request(0, 0, (5,), 1)], SamplingOptions(temperature=1.0, max_tokens=10**6), batch=0)
        stream.start([Request(0, 0, (10**6,), 1)], OPTIONS, batch=0)
        with pytest.raises(IndexError):
            ask(stream, 1)


@pytest.fixture(scope="module")
def plan(tmp_path_factory) -> Plan:
    file = tmp_path_factory.mktemp("recipe") / "live.rl"
    file.write_text(RECIPE)
    data = json.loads(json.dumps(to_json(compile_recipe(resolve(str(file)))[0])))
    next(n for n in data["graph"] if n["kind"] == "checkpoint")["options"]["every"] = 2
    return from_json(data)


def train(plan: Plan, folder: Path, name: str, params: dict, *, resume: bool = False, die_at: int | None = None):
    """Trains the plan under a schedule with an engine of its own beside the trainer; the rows of every update. Nothing
    is sampled during an update: on a busy machine all would be, and no push would find anything in flight."""
    rows: list = []
    with launch.open_run(plan, folder, folder, lambda *_: None, resume=resume) as run:
        run.schedule, run.terms = find("system", name)(**params), Terms(4, 2, STEPS)
        update, record = LocalEngine.update, run.record

        def remembered(job):
            rows.append((run.progress.batch, job.rows))
            with stream._between_pieces():
                return update(run.trainer, job)

        def dying(kind, **data):
            record(kind, **data)
            if kind == "step" and data["step"] == die_at:
                raise KeyboardInterrupt

        run.trainer.update, run.record = remembered, dying
        with Attended(load_policy(MODEL, "float32", seed=9, device="cpu")[0], plan.seed, piece=8) as stream:
            event_loop.execute(run, stream, stall=30)
            assert stream.version == STEPS and fingerprint(stream.policy) == fingerprint(run.trainer.policy)
    return rows


@pytest.mark.parametrize("name, params", SCHEDULES, ids=[n for n, _ in SCHEDULES])
def test_a_real_run_under_every_schedule(plan, tmp_path, name, params) -> None:
    schedule = find("system", name)(**params)
    rows = train(plan, tmp_path, name, params)
    journal = list(read_journal(tmp_path))
    steps = [e.data for e in journal if e.kind == "step"]
    prompts = Counter((epoch, row) for s in steps for epoch, row, _ in s["prompts"])
    assert len(steps) == STEPS and set(prompts.values()) == {1}
    assert all(s["metrics"]["grad_norm"] > 0 for s in steps)
    for batch, part in rows:
        for t in part:
            assert list(t.versions) == sorted(t.versions) and t.versions[-1] <= batch
            assert schedule.lag() is None or batch - t.versions[0] <= schedule.lag()
    several = sum(len(set(t.versions)) > 1 for _, part in rows for t in part)
    assert bool(several) == schedule.cuts()
    assert list(replay(schedule, [e.data for e in journal if e.kind == "control"])) == []


@pytest.mark.parametrize("name, params", SCHEDULES[3:])
def test_a_real_run_goes_on_after_a_kill(plan, tmp_path, name, params) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(plan, tmp_path, name, params, die_at=3)
    train(plan, tmp_path, name, params, resume=True)
    steps = [e.data for e in kept_events(read_journal(tmp_path)) if e.kind == "step"]
    prompts = Counter((epoch, row) for s in steps for epoch, row, _ in s["prompts"])
    assert [s["step"] for s in steps] == [*range(1, STEPS + 1)] and set(prompts.values()) == {1}


def test_a_schedule_that_cuts_runs_with_the_trainers_own_weights(tmp_path, monkeypatch) -> None:
    """The embedded backend takes turns: a pause, then training; after a kill the pool is there again."""
    monkeypatch.setattr(launch, "LocalStream", Attended)
    file = tmp_path / "turns.rl"
    file.write_text(CUT.replace("max_tokens: 120)", "max_tokens: 120) | "
                                                                         "per_source(8, by: \"kind\")"))
    with pytest.raises(RunError, match="kind"):
        _in_turns(tmp_path / "none", file)
    file.write_text(CUT)
    with pytest.raises(KeyboardInterrupt):
        _in_turns(tmp_path / "run", file, die_at=3)
    run = _in_turns(tmp_path / "run", file, resume=True)
    steps = [e.data for e in kept_events(read_journal(tmp_path / "run")) if e.kind == "step"]
    assert [s["step"] for s in steps] == [*range(1, STEPS + 1)]
    assert set(Counter((e, r) for s in steps for e, r, _ in s["prompts"]).values()) == {1}
    assert sum(s["metrics"].get("responses/cut", 0) for s in steps) > 0 and run.rollout.version == STEPS


def _in_turns(folder: Path, file: Path, *, resume: bool = False, die_at: int | None = None):
    data = json.loads(json.dumps(to_json(compile_recipe(resolve(str(file)))[0])))
    next(n for n in data["graph"] if n["kind"] == "checkpoint")["options"]["every"] = 2
    with launch.open_run(from_json(data), folder, folder, lambda *_: None, resume=resume) as run:
        record = run.record

        def dying(kind, **told):
            record(kind, **told)
            if kind == "step" and told["step"] == die_at:
                raise KeyboardInterrupt

        run.record = dying
        execute_through_deaths(run)
        return run


def test_in_turns_the_event_loop_trains_what_the_embedded_executor_trains(plan, tmp_path) -> None:
    """The same prompts, responses, rewards and gradients, whether batches come whole or response by response."""
    found = []
    for name, run_it in (("whole", executor.execute), ("single", None)):
        with launch.open_run(plan, tmp_path / name, tmp_path, lambda *_: None, resume=False) as run:
            if run_it is not None:
                run_it(run)
            else:
                with LocalStream(run.trainer.policy, plan.seed, piece=200) as stream:
                    event_loop.execute(run, stream, stall=30)
        steps = [e.data for e in read_journal(tmp_path / name) if e.kind == "step"]
        found.append([(s["metrics"]["reward/shaped"], s["metrics"]["grad_norm"], s["metrics"]["loss"], s["prompts"])
                      for s in steps])
    for whole, single in zip(*found, strict=True):
        assert single[:3] == pytest.approx(whole[:3], rel=1e-4, abs=1e-6)
        assert sorted(single[3]) == sorted(whole[3])


def test_the_exported_weights_do_not_follow_the_trainer() -> None:
    engine = LocalEngine.__new__(LocalEngine)
    engine.policy = twin()
    weights = engine.export()
    with torch.no_grad():
        next(engine.policy.parameters()).add_(1.0)
    assert fingerprint(twin()) != fingerprint(engine.policy)
    other = twin(seed=4)
    other.load_state_dict(weights)
    assert fingerprint(other) == fingerprint(twin())
