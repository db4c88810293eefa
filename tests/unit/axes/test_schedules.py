"""What holds for every schedule in every order of events: nothing lost, nothing twice, no deadlock, no older data."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rldsl.axes import discover
from rldsl.axes.control import Event, Schedule

from .world import World

SCHEDULES = sorted({(name, tuple(sorted(e.params.items()))) for name in discover.names("system")
                    if issubclass(discover.find("system", name), Schedule)
                    for e in discover.examples("system", name)})
every = pytest.mark.parametrize("name, params", SCHEDULES, ids=str)
overlapping = pytest.mark.parametrize("name, params", [
    s for s in SCHEDULES if discover.find("system", s[0])(**dict(s[1])).overlaps()], ids=str)


def world(name: str, params, *, survives: int | None = None, filtered: int = 0, **terms) -> World:
    return World(discover.find("system", name)(**dict(params)), Event("start", **terms), survives, filtered)


def anyhow(data: st.DataObject):
    """Picks from a seeded generator, or from one end or the other for long stretches."""
    draw = random.Random(data.draw(st.integers(0, 2**32)))
    bias = data.draw(st.sampled_from(["any", "oldest", "newest"]))

    def choose(count: int) -> int:
        if bias == "any" or draw.random() < 0.1:
            return draw.randrange(count)
        return 0 if bias == "oldest" else count - 1

    return choose


@every
@settings(max_examples=60, deadline=None)
@given(data=st.data(), prompts=st.integers(1, 6), siblings=st.integers(1, 4), filtered=st.sampled_from([0, 0, 2, 3]),
       admit=st.integers(0, 3), versions=st.integers(1, 2))
def test_in_any_order_of_events(name, params, data, prompts, siblings, filtered, admit, versions):
    w = world(name, params, prompts=prompts, siblings=siblings, batches=6, admit=admit * prompts,
              versions=served(name, params, versions), filtered=filtered)
    w.run(anyhow(data))
    assert max(w.fates.values()) == 1 and w.trained == 6
    if admit:
        assert w.most <= admit * prompts
    if w.schedule.whole():
        assert set(w.sizes) == {prompts}
        assert w.launched <= w.fates.total()
    if w.schedule.lag() is not None:
        assert max(w.oldest) <= w.schedule.lag()


def served(name: str, params, versions: int) -> int:
    """So many sets of weights, or what the schedule can use of them."""
    return min(versions, discover.find("system", name)(**dict(params)).in_use() or versions)


@overlapping
@settings(max_examples=30, deadline=None)
@given(data=st.data(), prompts=st.integers(1, 6), siblings=st.integers(1, 4))
def test_no_more_sets_of_weights_are_in_use_than_the_schedule_says(name, params, data, prompts, siblings):
    w = world(name, params, prompts=prompts, siblings=siblings, batches=12, versions=9)
    w.run(anyhow(data))
    assert w.sets <= (w.schedule.in_use() or 9) and not w.cuts


@every
@settings(max_examples=30, deadline=None)
@given(data=st.data(), prompts=st.integers(1, 6), siblings=st.integers(1, 4), survives=st.integers(0, 3))
def test_what_is_cut_too_often_is_given_up(name, params, data, prompts, siblings, survives):
    w = world(name, params, prompts=prompts, siblings=siblings, batches=6, survives=survives)
    w.run(anyhow(data))
    assert max(w.cuts.values(), default=0) <= survives + 1
    if w.schedule.cuts() and not w.schedule.whole():
        assert max(w.oldest) <= survives


def test_what_schedules_say_of_themselves_does_happen() -> None:
    """The bounds and properties are no larger than they have to be."""
    for name, params in SCHEDULES:
        made = [world(name, params, prompts=3, siblings=2, batches=8) for _ in range(40)]
        for seed, w in enumerate(made):
            w.run(random.Random(seed).randrange)
        schedule = made[0].schedule
        assert any(w.cuts for w in made) == schedule.cuts(), (name, params)
        if (bound := schedule.lag()) is not None:
            assert max(max(w.oldest) for w in made) >= min(bound, 2), (name, params)
