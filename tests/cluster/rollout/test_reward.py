"""Scorers on actors: whatever one does, or whatever befalls its actor, costs a row. Processes really are killed."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
import ray

from rldsl.axes.base import Scorer
from rldsl.backends.cluster import reward
from rldsl.backends.cluster.placement import reserve
from rldsl.compiler.roles import REWARD, Role
from rldsl.runtime.errors import RunError
from rldsl.runtime.scoring import ScoreItem, ScoringPool
from tests.unit.runtime.test_scoring import SCORERS, items

SLOW = '''
    if text == "slow": time.sleep(0.02)
    return scale * metadata'''
WORDS = {"hang": "longer than 1.5 s", "exit": "exit status 3", "abort": "signal 6", "raise": "broken scorer",
         "memory": "MemoryError", "nan": "nan"}


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scorers")
    (folder / "scorers.py").write_text(SCORERS.replace("\n    return scale * metadata", SLOW))
    return folder


@pytest.fixture(scope="module")
def spawn(cluster):
    from ray.util.placement_group import remove_placement_group

    reserved = reserve((Role(REWARD, 2),))
    yield reward.spawner(reserved)
    remove_placement_group(reserved.group)


@pytest.fixture(scope="module")
def pool(module, spawn):
    with ScoringPool([Scorer("scorers:act")], 2, 1.5, 2**30, max_failed=0.9, path=(str(module),),
                     output=module / "log", site=reward.RewardSite(spawn)) as pool:
        yield pool


def values(results):
    return [r.value for row in results for r in row]


def pids(pool):
    return [ray.get(p.link.actor.pid.remote()) for p in pool._processes]


def killed(pid, how, after=0.3):
    """Sends a signal in a moment."""
    threading.Timer(after, os.kill, (pid, how)).start()


@pytest.mark.parametrize("deed, words", WORDS.items())
def test_a_bad_row_costs_itself_only(pool, deed, words):
    """C-030, C-074: as beside the driver."""
    found = pool.score(items("good", deed, "good", "print"))
    assert values(found)[:1] + values(found)[2:] == [0.0, 2.0, 3.0]
    assert found[1][0].value is None and words in found[1][0].error


def test_an_actor_keeps_going_when_its_scorer_ends(pool):
    before = pids(pool)
    pool.score(items(*["exit"] * 4))
    assert values(pool.score(items("good", "good"))) == [0.0, 1.0] and pids(pool) == before


def test_an_actor_that_is_killed_in_the_middle_is_replaced(pool):
    """C-033: kill −9 while both are busy; every response but the one in hand has its score."""
    before = pids(pool)
    killed(before[0], signal.SIGKILL)
    found = pool.score(items(*["slow"] * 64))
    lost = [r for row in found for r in row if r.value is None]
    assert len(lost) == 1 and "with its actor" in lost[0].error
    assert [v for i, v in enumerate(values(found)) if v is not None and v != i] == []
    assert values(pool.score(items("good", "good"))) == [0.0, 1.0]
    after = pids(pool)
    assert after[1] == before[1] and after[0] != before[0]


def test_an_actor_that_hangs_is_overdue_and_replaced(pool, monkeypatch):
    monkeypatch.setattr(reward, "KILL_DEADLINE", 1.0)
    before, begun = pids(pool), time.monotonic()
    killed(before[1], signal.SIGSTOP)
    found = pool.score(items(*["slow"] * 64))
    assert time.monotonic() - begun < 20
    lost = [r.error for row in found for r in row if r.value is None]
    assert len(lost) == 1 and "longer than 1.5 s" in lost[0]
    assert values(pool.score(items("good", "good"))) == [0.0, 1.0] and pids(pool)[1] != before[1]


def test_scorers_that_cannot_be_loaded_say_why(spawn, pool, tmp_path):
    (tmp_path / "broken.py").write_text("import nowhere")
    with ScoringPool([Scorer("broken:act")], 1, 5, 2**30, path=(str(tmp_path),),
                     site=reward.RewardSite(lambda place: ray.remote(reward.RewardActor).remote())) as other:
        with pytest.raises(RunError, match="RL607") as caught:
            other.score([ScoreItem("good", "", {})])
        assert "No module named 'nowhere'" in str(caught.value.diagnostic.why)
