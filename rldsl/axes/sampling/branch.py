"""Start a few responses, and let them branch after steps that the policy wrote with rising entropy.

Differs from `tree`: whether a response branches is drawn, the likelier the more uncertain its last step was than its
first; the group's remaining places are filled with fresh responses. What is shared is trained as in `tree`.
Exact: with H the mean entropy in nats of the first `window` tokens of a step, a response that goes on after a step gets
another continuation with probability clip(probability + weight·(H_step − H_first), 0, 1), as long as the group has
fewer than n responses.
Source: ARPO (arXiv:2507.19849), entropy-based adaptive rollout, where a step ends with a tool call. Its code starts 8
of 16 responses and looks at 20 tokens; it divides an entropy of the ten likeliest tokens, summed over the window, by
log |vocabulary|. Exact entropies in nats and their mean are ours, and so a weight has no default.
"""

from __future__ import annotations

from rldsl.algebra.expr import STATE
from rldsl.axes.choice import Example, tokens
from rldsl.axes.structure import Branching, Structured
from rldsl.axes.traits import SIBLINGS
from rldsl.axes.types import Count, Fraction, NonNegative, OpenFraction, Responses, Tokens


class Branch(Structured):
    positional = 1
    decided_by = {SIBLINGS: "n"}
    n: Responses  # responses per prompt
    start: Responses  # those that begin at once
    weight: NonNegative  # how much one nat of risen entropy adds to the probability
    max_tokens: Tokens  # most tokens in a response
    probability: Fraction = 0.5  # of branching where the entropy did not change
    window: Tokens = 20  # tokens at a step's beginning over which the entropy is taken
    temperature: NonNegative = 1.0  # divides the logits; applied to every log-prob alike
    top_p: OpenFraction | None = None  # smallest set of tokens with this probability
    top_k: Count | None = None  # most likely tokens only
    stop: tuple[str, ...] = ()  # texts that end a response

    def siblings(self) -> int:
        return self.n

    def started(self) -> int:
        return self.start

    def branching(self) -> Branching:
        return Branching(self.probability, self.weight, self.window)

    def divides(self) -> frozenset[str]:
        return frozenset({STATE})

    def check(self) -> dict[str, str]:
        return {} if self.start <= self.n else {"start": f"must be at most n, {self.n}"}


EXAMPLES = [Example("what two of three responses share has the mean of their advantages",
                    {"n": 3, "start": 1, "weight": 0.5, "max_tokens": 8},
                    [tokens(1, 1, reward=r, steps=[0, 1], states=["", s])
                     for r, s in ((1.0, "a"), (0.0, "a"), (0.5, "b"))],
                    {"advantage": [[0.0, 0.5], [0.0, -0.5], [0.0, 0.0]]}, {"advantage": "group_mean | shared_mean"})]
