"""Hold the policy near another one with a KL penalty in the loss.

Differs from `kl_in_reward`: the gradient flows through the penalty itself. With d = ℓ − log π_to on the sampled token:
k1 d, k2 d²/2, k3 e^−d − 1 + d; `exact` sums over the whole vocabulary. `weight` multiplies by the ratio, with or
without its gradient, to correct for off-policy samples; `score` by exp(ℓ − sg(ℓ)), whose value is 1 and whose gradient
is that of the sampling. With a `target` the coefficient follows the KL. To `ref` it is multiplied after each batch by
1 + clip(KL/target − 1, ±0.2)·n/horizon, KL the mean over its n responses of their tokens' mean as the batch begins. To
`old`, where that is 0, the KL is the mean over tokens once the batch is trained: above 1.5·target the coefficient
doubles, below target/1.5 it halves.
Source: GRPO in DeepSeekMath (arXiv:2402.03300), equation 4 (k3); Schulman, "Approximating KL divergence" (2020); the
target to ref: Ziegler et al. (arXiv:1909.08593), section 2.2, to old: PPO (arXiv:1707.06347), section 4; `score`:
arXiv:2506.09477; `cap`: verl 0.9.1.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import RESPONSE, UPDATE, Expr, clip, gt, lt, mean, ratio_of, sg, total, where
from rldsl.algebra.variables import KL_EXACT, LOGP, LOGP_OLD, LOGP_REF, LOGP_ROLLOUT, RESPONSES
from rldsl.axes.base import Regulariser, kl_estimate
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import PROXIMAL, RATIO, REFERENCE_KL, SCORE_ONLY
from rldsl.axes.types import NonNegative, Positive, Responses


class Kl(Regulariser):
    positional = 1
    decided_by = {REFERENCE_KL: "to", PROXIMAL: "to", RATIO: "weight", SCORE_ONLY: "estimator"}
    coef: NonNegative  # objective lost per nat
    to: Literal["ref", "old", "rollout"] = "ref"  # the policy to stay near
    estimator: Literal["k1", "k2", "k3", "exact"] = "k3"  # how the KL is taken
    weight: Literal["none", "sg_ratio", "ratio", "score"] = "none"  # factor on the estimate
    cap: Positive | None = None  # largest size of the weighted estimate; beyond it no gradient
    target: Positive | None = None  # KL in nats per token to hold; none keeps the coefficient
    horizon: Responses = 10000  # responses over which the coefficient follows

    @property
    def gives(self) -> frozenset:
        score_only = self.estimator == "k1" and self.weight != "ratio"
        return frozenset({REFERENCE_KL if self.to == "ref" else PROXIMAL, *({SCORE_ONLY} if score_only else ())})

    @property
    def needs(self) -> frozenset:
        return frozenset({RATIO} if self.weight in ("sg_ratio", "ratio") else ())

    @property
    def state(self) -> dict[str, float]:
        return {} if self.target is None else {"coef": self.coef}

    def bonus(self, r: Expr | None) -> Expr:
        factor = {"none": lambda: 1.0, "sg_ratio": lambda: sg(r), "ratio": lambda: r,
                  "score": lambda: ratio_of(LOGP - sg(LOGP))}[self.weight]()
        kl = factor * self._kl()
        kl = kl if self.cap is None else clip(kl, -self.cap, self.cap)
        return -self.coef * kl if self.target is None else -(self.carried("coef") * kl)

    def next_state(self) -> dict[str, Expr]:
        if self.target is None or self.to == "old":
            return {}
        seen = mean(mean(self._kl(), RESPONSE), UPDATE)
        error = clip(seen / self.target - 1.0, -0.2, 0.2)
        return {"coef": self.carried("coef") * (1.0 + error * total(RESPONSES, UPDATE) / self.horizon)}

    def state_after(self) -> dict[str, Expr]:
        if self.target is None or self.to != "old":
            return {}
        seen, coef = mean(self._kl(), UPDATE), self.carried("coef")
        return {"coef": where(gt(seen, 1.5 * self.target), 2.0 * coef,
                              where(lt(seen, self.target / 1.5), coef / 2.0, coef))}

    def _kl(self) -> Expr:
        other = {"ref": LOGP_REF, "old": LOGP_OLD, "rollout": LOGP_ROLLOUT}[self.to]
        return KL_EXACT if self.estimator == "exact" else kl_estimate(LOGP - other, self.estimator)

    def check(self) -> dict[str, str]:
        if self.target is not None and self.to == "rollout":
            return {"target": "must be none unless `to: ref` or `to: old`"}
        if self.target is not None and self.coef == 0:
            return {"coef": "must be greater than 0 with a target: 0 stays 0"}
        if self.estimator == "exact" and self.to != "ref":
            return {"estimator": "must be k1, k2 or k3 unless `to: ref`"}
        return {}

    def unread(self) -> dict[str, str]:
        return {} if self.target is not None and self.to == "ref" else {"horizon": "a target, with `to: ref`"}


EXAMPLES = [
    Example("k3 at π_ref/π = 2 is 2 − 1 − ln 2", {"coef": 1.0},
            [one_token(reward=0.0, logp_ref=[-1.0 + 0.6931472])], {"objective": -0.3068528}),
    Example("k2 at d = −ln 2", {"coef": 1.0, "estimator": "k2"}, [one_token(reward=0.0, logp_ref=[-0.3068528])],
            {"objective": -0.2402265, "gradient": [[-0.6931472]]}),
    Example("the score's gradient on top: k1 at d = ln 2", {"coef": 1.0, "estimator": "k1", "weight": "score"},
            [one_token(reward=0.0, logp_ref=[-1.6931472])], {"objective": -0.6931472, "gradient": [[1.6931472]]}),
    Example("k2 at d = ln 2, with a target that decides about the next batch",
            {"coef": 1.0, "to": "old", "estimator": "k2", "target": 0.1}, [one_token(2.0, reward=0.0)],
            {"objective": -0.2402265}),
    Example("d = 3 is held at 2", {"coef": 1.0, "estimator": "k1", "cap": 2.0},
            [one_token(reward=0.0, logp_ref=[-4.0])], {"objective": -2.0, "gradient": [[0.0]]}),
]
