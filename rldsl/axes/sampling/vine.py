"""k continuations from the beginning of every step of a response: their mean reward is the value of the text so far.

Differs from `group`: the continuations are scored like responses and never trained on. The text before a first step is
one state of all n responses to a prompt, and continued k times once. A response one of whose states has no continuation
with a score leaves the batch.
Exact: V̂(s) = (1/k)·Σ R over continuations sampled from s by the policy that wrote the response; the value of what has
ended is 0.
Source: VinePPO (arXiv:2410.01679), equation 6: K = 9, 8 responses to each prompt.
"""

from __future__ import annotations

from rldsl.algebra.variables import MC_VALUE
from rldsl.axes.choice import Example, tokens
from rldsl.axes.structure import Structured
from rldsl.axes.traits import CONTINUED, SIBLINGS, Trait
from rldsl.axes.types import Count, NonNegative, OpenFraction, Responses, Tokens


class Vine(Structured):
    positional = 1
    decided_by = {SIBLINGS: "n", CONTINUED: "k"}
    k: Count  # continuations of each state
    max_tokens: Tokens  # most tokens in a response, and in a continuation with what it continues
    n: Responses = 8  # responses per prompt
    temperature: NonNegative = 1.0  # divides the logits; applied to every log-prob alike
    top_p: OpenFraction | None = None  # smallest set of tokens with this probability
    top_k: Count | None = None  # most likely tokens only
    stop: tuple[str, ...] = ()  # texts that end a response

    @property
    def gives(self) -> frozenset[Trait]:
        return super().gives | {CONTINUED}

    def siblings(self) -> int:
        return self.n

    def continuations(self) -> int:
        return self.k

    def provides(self) -> frozenset[str]:
        return frozenset({MC_VALUE.name})


EXAMPLES = [Example("half of the continuations succeed at first, three of four after the first step",
                    {"k": 4, "max_tokens": 8}, [tokens(1, 1, reward=1.0, steps=[0, 1], mc_values=[0.5, 0.75])],
                    {"advantage": [[0.25, 0.25]]}, {"advantage": "vine"})]
