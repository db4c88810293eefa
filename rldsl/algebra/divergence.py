"""Divergences between the policy's and a teacher's distribution of the next token: named quantities of a forward.

A formula reads one as a variable whose name says exactly what is to be computed. The plain-Python definition below is
the reference that every backend is tested against.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .expr import TOKEN, Var

REVERSE_KL, FORWARD_KL, JSD = "reverse_kl", "forward_kl", "jsd"
PREFIX = "divergence/"
SHOWN = {REVERSE_KL: (r"\mathrm{KL}", "π_θ‖π_T"), FORWARD_KL: (r"\mathrm{KL}", "π_T‖π_θ"),
         JSD: (r"\mathrm{JSD}", "π_T,π_θ")}
LATEX = {"π_θ‖π_T": r"\pi_\theta\Vert\pi_T", "π_T‖π_θ": r"\pi_T\Vert\pi_\theta", "π_T,π_θ": r"\pi_T,\pi_\theta"}


@dataclass(frozen=True)
class Divergence:
    """Which divergence, in nats, over which tokens. With p the policy, q the teacher:

    reverse_kl Σ p log(p/q); forward_kl Σ q log(q/p); jsd Σ β·q log(q/m) + (1 − β)·p log(p/m), m = βq + (1 − β)p.
    `top` keeps the teacher's so many most likely tokens; `rescaled` makes both distributions sum to 1 over them, else
    the other tokens' part of the sum is dropped. `temperature` divides the log-probs of both before that.
    """

    kind: str
    top: int | None = None
    rescaled: bool = True
    temperature: float = 1.0
    beta: float = 0.5

    @property
    def name(self) -> str:
        """The variable's name; `named` reads it back."""
        support = "full" if self.top is None else f"top{self.top}{'' if self.rescaled else '-dropped'}"
        return f"{PREFIX}{self.kind}/{support}/{self.temperature!r}/{self.beta!r}"

    @property
    def variable(self) -> Var:
        """The quantity at each action token; gradient flows through the policy's distribution."""
        word, between = SHOWN[self.kind]
        top = "" if self.top is None else f"top {self.top}"
        latex = rf"{word}_{{t}}" + (rf"^{{\mathrm{{top}}\,{self.top}}}" if top else "") + f"({LATEX[between]})"
        plain = f"{'JSD' if self.kind == JSD else 'KL'}ₜ{f'[{top}]' if top else ''}({between})"
        return Var(self.name, TOKEN, latex, plain, gradient=True)


def is_divergence(name: str) -> bool:
    """Whether a variable's name is that of a divergence."""
    return name.startswith(PREFIX)


def named(name: str) -> Divergence:
    """The divergence that a variable's name stands for."""
    kind, support, temperature, beta = name.removeprefix(PREFIX).split("/")
    top, _, dropped = support.partition("-")
    return Divergence(kind, None if top == "full" else int(top.removeprefix("top")), not dropped,
                      float(temperature), float(beta))


def divergence(policy: Sequence[float], teacher: Sequence[float], spec: Divergence) -> float:
    """The divergence of two distributions over one vocabulary, given as logits (any constant may be added to them)."""
    p, q = ([x / spec.temperature for x in logits] for logits in (policy, teacher))
    kept = range(len(q)) if spec.top is None else sorted(range(len(q)), key=lambda v: -q[v])[:spec.top]
    over = kept if spec.rescaled else range(len(q))
    p_norm, q_norm = _log_sum_exp([p[v] for v in over]), _log_sum_exp([q[v] for v in over])
    return math.fsum(_part(p[v] - p_norm, q[v] - q_norm, spec) for v in kept)


def _part(log_p: float, log_q: float, spec: Divergence) -> float:
    """One token's part of the sum."""
    p, q = math.exp(log_p), math.exp(log_q)
    if spec.kind == REVERSE_KL:
        return p * (log_p - log_q)
    if spec.kind == FORWARD_KL:
        return q * (log_q - log_p)
    log_m = math.log(spec.beta * q + (1 - spec.beta) * p)
    return spec.beta * q * (log_q - log_m) + (1 - spec.beta) * p * (log_p - log_m)


def _log_sum_exp(x: Sequence[float]) -> float:
    top = max(x)
    return top + math.log(math.fsum(math.exp(v - top) for v in x))
