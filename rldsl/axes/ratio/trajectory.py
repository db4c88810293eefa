"""One ratio per response: the product of its token ratios, the trajectory's true importance weight.

Differs from `sequence`: not length-normalised, so it grows or vanishes with the length.
Exact: exp(Σ_t(ℓ − log π_denominator)), the sum bounded to ±20.
Source: importance sampling over whole trajectories, as in TOPR (arXiv:2503.14286).
"""

from __future__ import annotations

from rldsl.algebra.expr import RESPONSE, Expr, ratio_of, total
from rldsl.axes.base import Ratio, log_ratio
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import RATIO, RESPONSE_TERM
from rldsl.axes.types import Policies, Positive


class Trajectory(Ratio):
    positional = 1
    gives = {RATIO, RESPONSE_TERM}
    pair: Policies  # the two policies: current / old or current / rollout
    log_high: Positive | None = 20.0  # the log-ratio is held in -20..log_high; none: free above

    def ratio(self) -> Expr:
        return ratio_of(total(log_ratio(self.pair), RESPONSE), self.log_high)


EXAMPLES = [Example("ratios 1.1, 0.9, 1.2", {"pair": Policies("current", "old")}, [tokens(1.1, 0.9, 1.2)],
                    {"ratio": [[1.188] * 3]})]
