"""One ratio per token: r_t = exp(ℓ − log π_denominator).

`current / old` compares with the start of the update phase; `current / rollout` with the probability the token was
really sampled with, which needs no old-policy forward.
Source: PPO (arXiv:1707.06347), equation 6; rollout form: DIS in GLM-5.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, ratio_of
from rldsl.axes.base import Ratio, log_ratio
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import RATIO
from rldsl.axes.types import Policies, Positive


class Token(Ratio):
    positional = 1
    gives = {RATIO}
    pair: Policies  # the two policies: current / old or current / rollout
    log_high: Positive | None = 20.0  # the log-ratio is held in -20..log_high; none: free above

    def ratio(self) -> Expr:
        return ratio_of(log_ratio(self.pair), self.log_high)


EXAMPLES = [Example("r = 1.5", {"pair": Policies("current", "old")}, [one_token(1.5, 2.0)],
                    {"ratio": [[1.5]], "objective": 3.0, "gradient": [[-3.0]]})]
