"""The batch holds tokens of weights that are many versions old.

Looks at the oldest version in a response against the trainer's. Differs from `kappa_tail`: it counts versions, and
does not ask what they changed.
Source: slime's asynchronous run of GSM8K, whose staleness stays at most 7.
"""

from __future__ import annotations

from rldsl.axes.choice import Example
from rldsl.axes.detect import Detector, Seen
from rldsl.axes.types import Natural

OLDEST, MEAN = "staleness/max", "staleness/mean"


class StaleData(Detector):
    reads = (OLDEST,)
    remedy = "bound the lag (max_lag, a schedule that waits), push less often, or give sampling more devices"
    above: Natural = 7  # versions between the trainer and the oldest token

    def sign(self, seen: Seen) -> bool:
        return seen.now[OLDEST] > self.above

    def evidence(self, seen: Seen) -> str:
        mean = f", {seen.now[MEAN]:.1f} in the mean" if MEAN in seen.now else ""
        return f"tokens are up to {seen.now[OLDEST]:.0f} versions old{mean}"

    def cause(self, seen: Seen) -> str:
        return "the older the data, the less it says of the policy that is being trained"


EXAMPLES = [
    Example("twenty versions", batch=[{OLDEST: 20.0}] * 5, expect={"speaks": [5]}),
    Example("seven versions", batch=[{OLDEST: 7.0}] * 12, expect={"speaks": []}),
]
