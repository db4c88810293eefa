"""Bring the policy's distribution at every position nearer to the teacher's; no advantage is read.

Differs from the advantage `teacher`: the gradient flows through the divergence itself, so every token of the vocabulary
teaches at every position, not the sampled one alone. Exact: −D(π_θ, π_T), D = KL(π_θ‖π_T) (`reverse_kl`), KL(π_T‖π_θ)
(`forward_kl`) or β·KL(π_T‖m) + (1 − β)·KL(π_θ‖m) with m = β·π_T + (1 − β)·π_θ (`jsd`), on the states that were sampled.
Source: GKD (arXiv:2306.13649), equation 1 and the generalised JSD of section 2; DeepSeek-V4: full vocabulary.
"""

from __future__ import annotations

from typing import Annotated, Literal

from rldsl.algebra.divergence import JSD, Divergence
from rldsl.algebra.expr import Expr
from rldsl.axes.base import Gate
from rldsl.axes.choice import Example, one_token
from rldsl.axes.parameters import Support
from rldsl.axes.support.full import Full
from rldsl.axes.support.sampled import Sampled
from rldsl.axes.traits import OWN_SIGNAL, TEACHER
from rldsl.axes.types import Bound, Positive


class Distill(Gate):
    positional = 1
    gives = {OWN_SIGNAL, TEACHER}
    divergence: Literal["reverse_kl", "forward_kl", "jsd"] = "reverse_kl"  # which way the distributions are compared
    over: Support = Full()  # the tokens that are compared: full, top_k(k) or sampled
    temperature: Positive = 1.0  # divides the log-probs of both, on top of sampling's temperature
    beta: Annotated[float, Bound(gt=0, lt=1)] = 0.5  # the teacher's share of the mixture in jsd

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        return self.over.measure(Divergence(self.divergence, temperature=self.temperature, beta=self.beta))

    def unread(self) -> dict[str, str]:
        found = {} if self.divergence == JSD else {"beta": "divergence: jsd"}
        return found if self.over.tempered() else {**found, "temperature": "over: full, or top_k(k)"}


_NAME = Divergence("reverse_kl").name
EXAMPLES = [
    Example("0.3 nats from the teacher", {}, [one_token(reward=0.0, divergences={_NAME: [0.3]})],
            {"objective": -0.3}, {"ratio": "none", "advantage": "none"}),
    Example("a token that the teacher likes better, as a policy gradient", {"over": Sampled()},
            [one_token(reward=0.0, logp_teacher=[-0.5])], {"gradient": [[-0.5]]},
            {"ratio": "none", "advantage": "none"}),
]
