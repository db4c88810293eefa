"""One response to every prompt.

Differs from `group`: nothing to compare with, so the baseline must come from a critic or the batch.
Source: SAO, one rollout per prompt with a critic (GLM-5 technical report).
"""

from __future__ import annotations

from rldsl.axes.base import Sampler
from rldsl.axes.choice import Example, one_token
from rldsl.axes.types import Count, NonNegative, OpenFraction, Tokens


class Single(Sampler):
    max_tokens: Tokens  # most tokens in a response
    temperature: NonNegative = 1.0  # divides the logits; applied to every log-prob alike
    top_p: OpenFraction | None = None  # smallest set of tokens with this probability
    top_k: Count | None = None  # most likely tokens only
    stop: tuple[str, ...] = ()  # texts that end a response


EXAMPLES = [Example("the batch is the baseline", {"max_tokens": 8},
                    [one_token(reward=1.0), {**one_token(reward=0.0), "prompt": "q"}],
                    {"advantage": [0.5, -0.5]}, {"advantage": "batch_mean"})]
