"""What choices need from one another and give to one another. Checks read these, never names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Trait:
    """A property that one choice gives and another needs; `text` completes “this needs …”."""

    name: str
    text: str


SIBLINGS = Trait("siblings", "at least two responses to the same prompt")
RATIO = Trait("ratio", "an importance ratio to bound")
SCORES = Trait("scores", "a score per response")
CORRECTNESS = Trait("correctness", "a correctness term that can be told apart from shaping")
VALUES = Trait("values", "a value estimate per token from a critic")
TOKEN_ADVANTAGE = Trait("token_advantage", "an advantage that may differ inside a response")
TOKEN_REWARD_READ = Trait("token_reward_read", "an advantage that reads a reward at every token")
RESPONSE_TERM = Trait("response_term", "a term of one value per response")
LENGTH_LIMIT = Trait("length_limit", "a known limit on the response's length")
