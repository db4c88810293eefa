"""An hour of virtual time with 32,000 environments, under every schedule: the CPU seconds that it takes.

    python benchmarks/simulate_hour.py [MEDIAN SECONDS]

4,000 prompts of 8 responses a batch; times are log-normal with σ = 1, one response in a hundred ends at its limit.
"""

from __future__ import annotations

import sys
import time

from rldsl.axes.base import Latency, Placement, Schedule
from rldsl.compiler.resolve.alone import choice_alone, system_alone
from rldsl.compiler.show import show
from rldsl.runtime.control import Terms
from rldsl.runtime.simulation.machine import Costs, simulate
from rldsl.runtime.simulation.measure import outcome
from rldsl.runtime.simulation.page import text
from rldsl.runtime.simulation.trace import Trace, drawn

ENVIRONMENTS, PROMPTS, SIBLINGS, HOUR = 32_000, 4_000, 8, 3600.0
APART = "disaggregated(rollout: 3, train: 1)"
SYSTEMS = ("sync on colocated", "partial(0.8) on colocated", f"token_budget({PROMPTS * SIBLINGS}k) on colocated",
           f"per_sample({ENVIRONMENTS}) on colocated", f"one_step_off on {APART}", f"stream(1) on {APART}",
           f"windowed(0.3) on {APART}", f"windowed(0.3, queue: 4) on {APART}",
           "stream(1) on disaggregated(rollout: 3, train: 1, versions: 4)",
           "stream(1) on elastic(dedicated: 3, flexible: 1)")


def main() -> None:
    median = sys.argv[1] if len(sys.argv) > 1 else "60"
    latency = choice_alone(f"lognormal({median}s)", "latency", Latency, "median")
    trace = drawn(latency, show(latency), 16_000 / latency.quantile(0.99), 16_000, 0)
    costs = Costs(ENVIRONMENTS, trace.mean[0] / 3, 1.0, 5_000.0)
    outcomes, slowest = [], 0.0
    for system in SYSTEMS:
        schedule, placement = (node.choice for node in system_alone(system, "system"))
        started = time.process_time()
        outcomes.append(measured(schedule, placement, costs, trace))
        seconds = time.process_time() - started
        slowest = max(slowest, seconds)
        print(f"{seconds:6.1f} CPU s for {outcomes[-1].events:,} events: {system}", flush=True)
    print(f"\n{text(outcomes)}\n\nslowest: {slowest:.1f} s, goal: 60 s")


def measured(schedule: Schedule, placement: Placement, costs: Costs, trace: Trace):
    """One hour of one system."""
    terms = Terms(PROMPTS, SIBLINGS, 10**6, versions=placement.serves())
    name = f"{show(schedule)} on {show(placement)}"
    return outcome(name, placement, costs, simulate(schedule, placement, terms, costs, trace, HOUR))


if __name__ == "__main__":
    main()
