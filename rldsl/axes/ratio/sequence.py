"""One ratio per response: the geometric mean of its token ratios, gradient through the mean.

Differs from `token`: all tokens of a response share one ratio. It is length-normalised, not the trajectory's weight.
Source: GSPO (arXiv:2507.18071), equation 7.
"""

from __future__ import annotations

from rldsl.algebra.expr import RESPONSE, Expr, mean, ratio_of
from rldsl.axes.base import Ratio, log_ratio
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import RATIO, RESPONSE_TERM, SEQUENCE_SCALE
from rldsl.axes.types import Policies, Positive


class Sequence(Ratio):
    positional = 1
    gives = {RATIO, RESPONSE_TERM, SEQUENCE_SCALE}
    pair: Policies  # the two policies: current / old or current / rollout
    log_high: Positive | None = 20.0  # the log-ratio is held in -20..log_high; none: free above

    def ratio(self) -> Expr:
        return ratio_of(mean(log_ratio(self.pair), RESPONSE), self.log_high)


EXAMPLES = [Example("ratios 1.1, 0.9, 1.2", {"pair": Policies("current", "old")}, [tokens(1.1, 0.9, 1.2)],
                    {"ratio": [[1.059105] * 3]})]
