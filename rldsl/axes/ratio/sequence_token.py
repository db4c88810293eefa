"""The response's geometric-mean ratio as the value, each token's own gradient.

Differs from `sequence`: value and clipping are the same, but a token's gradient is weighed by its own
advantage, which may differ inside the response.
Exact: sg(s_i)·exp(ℓ − sg(ℓ)), s_i = exp(mean_t(ℓ − log π_denominator)).
Source: GSPO (arXiv:2507.18071), GSPO-token.
"""

from __future__ import annotations

from rldsl.algebra.expr import RESPONSE, Expr, mean, ratio_of, sg
from rldsl.algebra.variables import LOGP
from rldsl.axes.base import Ratio, log_ratio
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import RATIO, SEQUENCE_SCALE
from rldsl.axes.types import Policies


class SequenceToken(Ratio):
    positional = 1
    gives = {RATIO, SEQUENCE_SCALE}
    pair: Policies  # the two policies: current / old or current / rollout

    def ratio(self) -> Expr:
        return sg(ratio_of(mean(log_ratio(self.pair), RESPONSE))) * ratio_of(LOGP - sg(LOGP))


EXAMPLES = [Example("one value, and r·A for each token's gradient", {"pair": Policies("current", "old")},
                    [tokens(1.1, 0.9, 1.2)], {"ratio": [[1.059105] * 3], "gradient": [[-1.059105] * 3]})]
