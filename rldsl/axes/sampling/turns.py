"""n trajectories per prompt, each a conversation with an environment: the policy acts, the environment answers.

Differs from `group`: only what the policy wrote are action tokens; what the environment answered is context. Turns,
their rewards and the environment's states are recorded, and a turn is a step. With `tools`, calls are recorded as well.
Source: RAGEN (arXiv:2504.20073), section 2: state, thinking, actions, reward, over several turns.
"""

from __future__ import annotations

from rldsl.algebra.expr import ORDINAL, STATE, STEP, TURN
from rldsl.algebra.variables import INVALID, PROCESS, SUCCEEDED
from rldsl.axes.base import Sampler
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import MULTI_TURN, SIBLINGS, STEPS, TOOLS, Trait
from rldsl.axes.types import Count, NonNegative, OpenFraction, Responses, Tokens


class Turns(Sampler):
    positional = 1
    decided_by = {SIBLINGS: "n", TOOLS: "tools"}
    engine = "an environment of several turns"
    max: Count  # most turns of a trajectory
    max_tokens: Tokens  # most action tokens of a trajectory
    n: Responses = 1  # trajectories per prompt
    tools: tuple[str, ...] = ()  # names of the tools that the policy may call
    temperature: NonNegative = 1.0  # divides the logits; applied to every log-prob alike
    top_p: OpenFraction | None = None  # smallest set of tokens with this probability
    top_k: Count | None = None  # most likely tokens only
    stop: tuple[str, ...] = ()  # texts that end a turn

    @property
    def gives(self) -> frozenset[Trait]:
        return super().gives | {MULTI_TURN, STEPS} | ({TOOLS} if self.tools else set())

    def siblings(self) -> int:
        return self.n

    def divides(self) -> frozenset[str]:
        return frozenset({TURN, ORDINAL, STATE, STEP})

    def provides(self) -> frozenset[str]:
        return frozenset({PROCESS.name} | ({INVALID.name, SUCCEEDED.name} if self.tools else set()))


EXAMPLES = [Example("turns of two tokens and of one", {"max": 8, "max_tokens": 64},
                    [tokens(1, 1, 1, values=[0.5, 9.0, 0.75], turns=[0, 0, 1])], {"advantage": [[0.25, 0.25, 0.25]]},
                    {"advantage": "turn_gae(lambda: 0)"}),
            Example("a tool was called wrongly in the first turn", {"max": 8, "max_tokens": 64, "tools": ("search",)},
                    [tokens(1, 1, invalid=[1, 0], values=[0.0, 0.0])], {"advantage": [[0.5, 1.0]]},
                    {"advantage": "gae(lambda: 1)", "feedback": "verify(exact) + tool_format(0.5)"})]
