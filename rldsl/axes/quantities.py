"""Quantities that several choices are made of: ratios, KL estimates, margins between the responses of a pair."""

from __future__ import annotations

from rldsl.algebra.expr import (
    PAIR,
    RESPONSE,
    Expr,
    absolute,
    clip,
    exp,
    gt,
    log,
    mean,
    minimum,
    ratio_of,
    sg,
    total,
    where,
)
from rldsl.algebra.variables import CHOSEN, LOGP, LOGP_OLD, LOGP_ROLLOUT, LOGP_TEACHER

from .types import Policies


def kl_estimate(d: Expr, estimator: str, cap: float | None = None) -> Expr:
    """A KL from the sampled token, `d` = log π − log π_ref: k1 d, k2 d²/2, k3 e^−d − 1 + d (the exponent bounded).

    With a `cap` the estimate is held in ±cap.
    Source: Schulman, "Approximating KL divergence" (2020).
    """
    kl = {"k1": lambda: d, "k2": lambda: d * d / 2, "k3": lambda: ratio_of(-d) - 1 + d}[estimator]()
    return kl if cap is None else clip(kl, -cap, cap)


def log_ratio(pair: Policies) -> Expr:
    """ℓ minus the log-prob of the pair's second policy, per token."""
    return LOGP - {"old": LOGP_OLD, "rollout": LOGP_ROLLOUT}[pair.denominator]


def mismatch(grain: str = "token") -> Expr:
    """κ = π_old/μ per token, or over the response as `product` = exp(Σ log κ) or `geometric` = exp(mean log κ)."""
    log_kappa = LOGP_OLD - LOGP_ROLLOUT
    return ratio_of({"token": lambda: log_kappa, "product": lambda: total(log_kappa, RESPONSE),
                     "geometric": lambda: mean(log_kappa, RESPONSE)}[grain]())


def trajectory(r: Expr) -> Expr:
    """The product of token ratios over the response; a ratio that already is one number per response stays itself."""
    return ratio_of(total(log(r), RESPONSE))


def teacher_trust() -> Expr:
    """min(π_T/π_θ, 1) of the sampled token, a constant: how far the teacher would have accepted it itself."""
    return ratio_of(minimum(LOGP_TEACHER - sg(LOGP), 0.0))


def log_sigmoid(x: Expr) -> Expr:
    """log σ(x), finite for every finite x."""
    return minimum(x, 0.0) - log(1.0 + exp(-absolute(x)))


def margin(x: Expr) -> Expr:
    """x of the preferred response minus x of the other, per pair; x is one number per response."""
    return total(where(gt(CHOSEN, 0.0), x, -x), PAIR)


def binary_kl(p: Expr, q: Expr) -> Expr:
    """KL(p‖q) of two distributions over “this token” and “any other”; probabilities are held in [1e-12, 1 − 1e-12]."""
    p, q = clip(p, 1e-12, 1 - 1e-12), clip(q, 1e-12, 1 - 1e-12)
    return p * log(p / q) + (1 - p) * log((1 - p) / (1 - q))


def around_one(low: float, high: float) -> dict[str, float]:
    """The bounds 1 − low and 1 + high on a ratio; it is never below 0, so `low: 1` bounds nothing."""
    return {"low": low, "high": high} if low < 1 else {"high": high}
