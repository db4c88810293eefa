"""The response's geometric-mean ratio as the value, each token's own gradient.

Differs from `sequence`: value and clipping are the same, but a token's gradient is weighed by its own
advantage, which may differ inside the response.
Exact: exp(sg(d_i) + ℓ − sg(ℓ)), d_i = mean_t(ℓ − log π_denominator).
Source: GSPO (arXiv:2507.18071), GSPO-token.
"""

from __future__ import annotations

import math

from rldsl.algebra.expr import RESPONSE, Expr, mean, ratio_of, sg
from rldsl.algebra.variables import LOGP
from rldsl.axes.base import Ratio, log_ratio
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import RATIO, SEQUENCE_SCALE
from rldsl.axes.types import Policies, Positive


class SequenceToken(Ratio):
    positional = 1
    version = 2  # beyond the bound on the log-ratio the gradient is zero, as in every other ratio
    gives = {RATIO, SEQUENCE_SCALE}
    pair: Policies  # the two policies: current / old or current / rollout
    log_high: Positive | None = 20.0  # the log-ratio is held in -20..log_high; none: free above

    def ratio(self) -> Expr:
        return ratio_of(sg(mean(log_ratio(self.pair), RESPONSE)) + LOGP - sg(LOGP), self.log_high)


EXAMPLES = [Example("one value, and r·A for each token's gradient", {"pair": Policies("current", "old")},
                    [tokens(1.1, 0.9, 1.2)], {"ratio": [[1.059105] * 3], "gradient": [[-1.059105] * 3]}),
            Example("held at 2, where no gradient is left",
                    {"pair": Policies("current", "old"), "log_high": math.log(2)},
                    [tokens(3.0, 3.0)], {"ratio": [[2.0] * 2], "gradient": [[0.0] * 2]})]
