"""n responses to every prompt, and one more, greedy, that they are compared with.

Differs from `group`: the extra response takes the likeliest token everywhere; it is scored, gives the baseline, and
is never trained on.
Source: ReMax (arXiv:2310.10505), algorithm 1: one sampled and one greedy response per prompt.
"""

from __future__ import annotations

from rldsl.algebra.variables import GREEDY_REWARD
from rldsl.axes.base import Sampler
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import GREEDY_BASELINE, SIBLINGS, Trait
from rldsl.axes.types import Count, NonNegative, OpenFraction, Responses, Tokens


class GreedyBaseline(Sampler):
    decided_by = {SIBLINGS: "n", GREEDY_BASELINE: "n"}
    max_tokens: Tokens  # most tokens in a response
    n: Responses = 1  # responses per prompt that are trained on
    temperature: NonNegative = 1.0  # divides the logits; applied to every log-prob alike
    top_p: OpenFraction | None = None  # smallest set of tokens with this probability
    top_k: Count | None = None  # most likely tokens only
    stop: tuple[str, ...] = ()  # texts that end a response

    @property
    def gives(self) -> frozenset[Trait]:
        return super().gives | {GREEDY_BASELINE}

    def siblings(self) -> int:
        return self.n

    def greedy(self) -> bool:
        return True

    def provides(self) -> frozenset[str]:
        return frozenset({GREEDY_REWARD.name})


EXAMPLES = [Example("a response that beats the greedy one", {"max_tokens": 8},
                    [one_token(reward=1.0, greedy_reward=0.0)], {"advantage": [1.0]}, {"advantage": "remax"})]
