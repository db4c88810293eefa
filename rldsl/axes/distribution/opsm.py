"""Drop a response that is pushed down and that the current policy has left behind.

Differs from `mis`: looks only at negative advantages, and only at one direction of the divergence.
Exact: 0 where A < 0 and mean_t(log μ − ℓ) > δ over the response, else 1; ℓ is taken at the batch's start.
Source: off-policy sequence masking in the DeepSeek-V3.2 technical report; TRL 1.16.0
`off_policy_mask_threshold`.
"""

from __future__ import annotations

from rldsl.algebra.expr import RESPONSE, Expr, both, gt, lt, mean, sg, where
from rldsl.algebra.variables import ADVANTAGE, LOGP, LOGP_ROLLOUT
from rldsl.axes.base import Mask
from rldsl.axes.choice import Example, tokens
from rldsl.axes.types import Denominator, Positive


class Opsm(Mask):
    positional = 1
    delta: Positive  # largest mean log-ratio of sampler to policy, in nats per token
    denominator: Denominator = "all"  # whether dropped tokens still count in the denominators

    def keeps(self) -> Expr:
        left_behind = gt(mean(LOGP_ROLLOUT - sg(LOGP), RESPONSE), self.delta)
        return where(both(lt(ADVANTAGE, 0), left_behind), 0.0, 1.0)


_row = tokens(0.5, 0.5)
EXAMPLES = [Example("ln 2 nats behind: dropped where A < 0", {"delta": 0.5}, [{**_row, "reward": -1.0}, _row],
                    {"correction": [[0.0, 0.0], [1.0, 1.0]]})]
