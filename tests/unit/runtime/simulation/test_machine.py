"""The simulated machine against sums that can be done by hand, and what holds whatever is simulated."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from rldsl.axes import discover
from rldsl.axes.base import Latency
from rldsl.axes.control import Schedule
from rldsl.runtime.control import Terms
from rldsl.runtime.simulation.machine import Costs, Machine, simulate
from rldsl.runtime.simulation.measure import bound, outcome
from rldsl.runtime.simulation.trace import Trace, drawn

STEADY = drawn(discover.find("latency", "steady")(10.0), "steady", 10.0, 1000, 0)
TAILED = drawn(discover.find("latency", "lognormal")(10.0, 1.0), "lognormal", 10.0, 2000, 0)
TERMS = Terms(4, 4, 20)
SCHEDULES = sorted({(name, tuple(sorted(e.params.items()))) for name in discover.names("system")
                    if issubclass(discover.find("system", name), Schedule)
                    for e in discover.examples("system", name)})


def system(name: str, *args, **params):
    return discover.find("system", name)(*args, **params)


COLOCATED, APART, ELASTIC = system("colocated"), system("disaggregated", 1, 1), system("elastic", 1, 1)


@pytest.mark.parametrize("schedule, placement, slots, period", [
    (system("sync"), COLOCATED, 16, 10 + 6 + 1),  # sample, train, push
    (system("sync"), COLOCATED, 8, 20 + 6 + 1),  # in two turns
    (system("partial", 1.0), COLOCATED, 16, 10 + 6 + 1),
    (system("one_step_off"), APART, 32, 12 + 1),  # half of the devices train: twice 6 s, beside 10 s of sampling
    (system("one_step_off"), APART, 16, 20 + 1),  # eight slots sample in two turns, longer than training
    (system("sync"), ELASTIC, 16, 10 + 12 + 1),  # all sample, half train
])
def test_equal_responses_take_what_can_be_added_up(schedule, placement, slots, period):
    m = simulate(schedule, placement, TERMS, Costs(slots, 6.0, 1.0), STEADY)
    ends = [b.at for b in m.batches]
    assert len(ends) == 20
    assert all(b - a == pytest.approx(period) for a, b in pairwise(ends[1:]))


def test_idle_time_and_the_bound_by_hand():
    """16 responses of 10 s in 16 slots, then 6 s of training: 16 s a batch is the best that colocated devices can."""
    m = simulate(system("sync"), COLOCATED, TERMS, Costs(16, 6.0, 4.0), STEADY)
    o = outcome("x", COLOCATED, Costs(16, 6.0, 4.0), m)
    assert m.end == pytest.approx(20 * 16 + 19 * 4)
    assert o.idle == pytest.approx(19 * 4 / m.end) and o.bound == pytest.approx(20 * 16 / m.end)
    assert o.idle_training is None and o.kept == 1.0 and o.length == o.early == pytest.approx(1.0)
    assert o.rate == pytest.approx(20 * 16 * 100 / m.end) and o.age == o.oldest == 0


def test_the_bound_is_the_longer_of_sampling_and_training_on_devices_apart():
    costs = Costs(16, 6.0)
    assert bound(APART, costs, 100.0, 8 * 90.0) == 100.0 and bound(APART, costs, 100.0, 8 * 130.0) == 130.0
    assert bound(COLOCATED, costs, 100.0, 16 * 90.0) == 190.0
    assert bound(ELASTIC, costs, 100.0, 8 * 100.0 + 16 * 5.0) == 105.0


@pytest.mark.parametrize("name, params", SCHEDULES, ids=str)
@pytest.mark.parametrize("costs", [Costs(16, 6.0, 1.0), Costs(5, 60.0, 0.0, 1000.0), Costs(64, 1.0, 3.0)], ids=str)
def test_whatever_is_simulated(name, params, costs):
    schedule = system(name, **dict(params))
    places = (APART, ELASTIC, system("disaggregated", 1, 1, versions=3)) if schedule.overlaps() else (COLOCATED, APART)
    for placement in places:
        m = simulate(schedule, placement, Terms(4, 4, 20, versions=placement.serves()), costs, TAILED)
        o = outcome(name, placement, costs, m)
        assert o.batches == 20 and o.events == m.events
        assert sum(b.responses for b in m.batches) <= m.launched[0]
        assert -1e-9 <= o.idle < 1 and 0 < o.bound <= 1 + 1e-9 and 0 < o.kept <= 1 and -1e-9 <= o.idle_sampling < 1
        assert schedule.lag() is None or o.oldest <= schedule.lag()
        assert (o.idle_training is None) == placement.shared()


def test_every_schedule_gets_the_same_responses():
    seen = [simulate(s, APART, TERMS, Costs(16, 6.0), TAILED) for s in (system("sync"), system("one_step_off"))]
    assert [b.tokens for b in seen[0].batches] == [b.tokens for b in seen[1].batches]
    assert TAILED.group(7, 4) == TAILED.group(7, 4) != TAILED.group(8, 4)


def test_several_versions_need_no_pause_and_hold_a_push_back():
    """With two versions, a third waits for the last response of the first."""
    slow = Trace(lambda g, n: [(1000.0 if g == 0 else 10.0, 100)] * n, (10.0, 100), "one slow prompt")
    def ages(versions: int, trace: Trace):
        m = simulate(system("stream", 1), system("disaggregated", 1, 1, versions=versions),
                     Terms(4, 1, 30, versions=versions), Costs(16, 1.0), trace)
        return [age for b in m.batches for age in b.ages.elements()]

    assert sum(ages(2, slow)) > 5 * sum(ages(1, slow)) and max(ages(2, slow)) > 20
    assert max(ages(2, STEADY)) == max(ages(1, STEADY)) == 1


def test_what_no_slot_is_left_for_goes_on_later():
    """Elastic: while the flexible half trains, half of the slots are gone, and no time of a response is lost."""
    m = simulate(system("stream", 1), ELASTIC, TERMS, Costs(16, 6.0), STEADY)
    assert sum(b.sampling for b in m.batches) == pytest.approx(20 * 16 * 10.0)
    assert m.used >= sum(b.sampling for b in m.batches) - 1e-6


def test_what_is_cut_too_often_is_given_up_and_costs_what_it_had():
    terms = Terms(4, 4, 20, survives=0)
    m = simulate(system("partial", 0.5), COLOCATED, terms, Costs(16, 6.0), TAILED)
    assert m.retired[0] > 0 and max(max(b.ages) for b in m.batches) == 0
    assert m.sampled - sum(b.tokens for b in m.batches) >= m.retired[1] > 0
    none = simulate(system("partial", 0.5), COLOCATED, TERMS, Costs(16, 6.0), TAILED)
    assert none.retired[0] == 0 and max(max(b.ages) for b in none.batches) > 0


def test_computing_stopped_responses_again_takes_its_time():
    free, paid = (simulate(system("partial", 0.5), COLOCATED, TERMS, Costs(16, 6.0, 0.0, rate), TAILED)
                  for rate in (None, 20.0))
    assert free.again == 0 and paid.again > 0
    assert paid.used - free.used > 0.5 * paid.again / 20.0
    kept = simulate(system("partial", 0.5, resume="keep_state"), COLOCATED, TERMS, Costs(16, 6.0, 0.0, 20.0), TAILED)
    assert kept.again == 0 and kept.end == free.end


def test_a_push_counts_optimizer_steps_not_batches():
    ages = [max(max(b.ages) for b in simulate(system("stream", 4), APART, replace(TERMS, updates=updates, admit=8),
                                              Costs(16, 6.0), STEADY).batches) for updates in (1, 4)]
    assert ages[0] > ages[1]


def test_stopping_takes_its_time_and_only_what_samples_waits_for_it():
    cut = [simulate(system("partial", 0.5), COLOCATED, TERMS, Costs(16, 6.0, pause=pause), TAILED)
           for pause in (0.0, 3.0)]
    assert cut[1].end - cut[0].end == pytest.approx(3.0 * len(cut[0].batches))
    ended = [simulate(system("stream", 1), APART, TERMS, Costs(64, 60.0, 1.0, pause=pause), TAILED).end
             for pause in (0.0, 3.0)]
    assert ended[1] - ended[0] < 3.0 + 1e-9


def test_it_stops_at_the_horizon():
    m = simulate(system("sync"), COLOCATED, TERMS, Costs(16, 6.0), STEADY, horizon=100.0)
    o = outcome("x", COLOCATED, Costs(16, 6.0), m)
    assert m.end == 100.0 and o.batches == 6


@pytest.mark.parametrize("name", discover.names("latency"))
def test_a_latency_has_the_quantiles_and_the_mean_that_it_says(name):
    example = discover.examples("latency", name)[0]
    latency: Latency = discover.find("latency", name)(**example.params)
    grid = [latency.quantile((k + 0.5) / 20000) for k in range(20000)]
    assert grid == sorted(grid) and sum(grid) / 20000 == pytest.approx(latency.mean(), rel=0.02)


@pytest.mark.parametrize("slots", [1, 2, 3, 5])
@pytest.mark.parametrize("placement", [COLOCATED, system("disaggregated", 1, 3), system("disaggregated", 3, 1),
                                       system("elastic", 1, 3), system("elastic", 3, 1)], ids=str)
def test_a_share_of_less_than_a_whole_slot_is_one_slot_also_to_the_bound(placement, slots):
    schedule = system("sync" if placement.shared() else "stream", *([] if placement.shared() else [1]))
    costs = Costs(slots, 6.0)
    o = outcome("x", placement, costs, simulate(schedule, placement, TERMS, costs, TAILED))
    assert 0 < o.bound <= 1 + 1e-9 and -1e-9 <= o.idle < 1 and 0 <= o.idle_sampling + 1e-9


def test_lent_slots_give_back_what_they_began_last():
    """Four slots, of which two are the trainer's: the responses that began last go on when a slot is free."""
    machine = Machine(system("stream", 1), ELASTIC, Terms(4, 1, 1), Costs(4, 6.0), STEADY)
    machine._launch(4)
    machine._serve()
    machine._resize(True)
    assert list(machine.running) == [0, 1] and list(machine.waiting) == [2, 3]


class Counting(Machine):
    """Notes how many sets of weights are held, whenever new ones have arrived."""

    most = 0

    def _happens(self, event):
        super()._happens(event)
        if event.kind == "published":
            self.most = max(self.most, len({*self.serving, self.version}))


@pytest.mark.parametrize("push", [0.0, 5.0, 50.0])
def test_no_more_sets_of_weights_are_held_than_there_are(push):
    """Also where only the newest is drained and replaced: until the next are there, nothing begins."""
    slow = Trace(lambda g, n: [(1000.0 if g == 0 else 10.0, 100)] * n, (10.0, 100), "one slow prompt")
    for versions, trace in ((2, slow), (2, TAILED), (3, TAILED)):
        machine = Counting(system("stream", 1), system("disaggregated", 1, 1, versions=versions),
                           Terms(4, 1, 30, versions=versions), Costs(16, 1.0, push=push), trace)
        assert len(machine.run().batches) == 30 and machine.most == versions
