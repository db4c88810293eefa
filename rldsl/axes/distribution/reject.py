"""Drop what diverges too far, by an estimate of the KL between trainer and sampler.

Differs from `mis`: the bound is on k1, k2 or k3 of log κ, κ = π_old/μ, of a token or summed, averaged or
maximised over the response, which is then dropped as a whole.
Exact: with d = log κ, k1 is d and must lie in ±threshold, k2 is d²/2 and k3 is κ − 1 − d, at most the
threshold.
Source: rejection sampling of verl 0.9.1 (`rollout_rs`), whose k1 bounds are given as ratios.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import RESPONSE, Expr, absolute, highest, le, mean, total
from rldsl.algebra.variables import LOGP_OLD, LOGP_ROLLOUT
from rldsl.axes.base import Mask, kl_estimate
from rldsl.axes.choice import Example, one_token, tokens
from rldsl.axes.traits import OWN_GRAIN
from rldsl.axes.types import Denominator, Positive


class Reject(Mask):
    positional = 1
    gives = {OWN_GRAIN}
    decided_by = {OWN_GRAIN: "over"}
    threshold: Positive  # largest divergence, in nats
    estimator: Literal["k1", "k2", "k3"] = "k3"  # how it is estimated from the sampled token
    over: Literal["token", "sum", "mean", "max"] = "max"  # a token by itself, or the response
    denominator: Denominator = "all"  # whether dropped tokens still count in the denominators

    def keeps(self) -> Expr:
        per_token = kl_estimate(LOGP_ROLLOUT - LOGP_OLD, self.estimator)
        seen = {"token": lambda: per_token, "sum": lambda: total(per_token, RESPONSE),
                "mean": lambda: mean(per_token, RESPONSE), "max": lambda: highest(per_token, RESPONSE)}[self.over]()
        return le(absolute(seen), self.threshold)

    def check(self) -> dict[str, str]:
        if self.over == "max" and self.estimator == "k1":
            return {"estimator": "must be k2 or k3 with `over: max`: the largest k1 bounds one side only"}
        return {}


_three = tokens(1, 1, logp_rollout=[-1.0 - 1.0986123, -1.0])
EXAMPLES = [
    Example("k3 at κ = 3 is 3 − 1 − ln 3 = 0.90", {"threshold": 0.8}, [_three], {"correction": [[0.0, 0.0]]}),
    Example("the mean is 0.45", {"threshold": 0.8, "over": "mean"}, [_three], {"correction": [[1.0, 1.0]]}),
    Example("token by token", {"threshold": 0.8, "over": "token"}, [_three], {"correction": [[0.0, 1.0]]}),
    Example("k1 is bounded on both sides", {"threshold": 0.5, "estimator": "k1", "over": "sum"},
            [one_token(logp_rollout=[-0.3])], {"correction": [[0.0]]}),
]
