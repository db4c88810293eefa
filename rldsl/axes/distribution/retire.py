"""Give a response up once it has been cut short more often than allowed.

Counted when a round stops what is in flight, before its batch is taken: under a schedule that sends new weights at
each cut, what is trained is at most `cuts` versions old where its prompt's other responses began with it.
Differs from `max_lag`: acts while the response is being written, so that it costs no more tokens; the prompt is trained
with the responses that are left.
Source: Ring-1T (arXiv:2510.18855), C3PO++, the retention period σ (unpublished).
"""

from __future__ import annotations

from rldsl.axes.base import Distribution
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import BOUNDS_LAG, CUTS
from rldsl.axes.types import Natural


class Retire(Distribution):
    positional = 1
    needs = {CUTS}
    gives = {BOUNDS_LAG}
    cuts: Natural  # how often a response may be cut and still go on, σ

    def survives(self) -> int:
        return self.cuts


EXAMPLES = [Example("what is left is used as it is", {"cuts": 1}, [one_token()], {"correction": [[1.0]]})]
