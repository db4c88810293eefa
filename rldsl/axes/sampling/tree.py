"""A tree of responses: each forks after its first step, after its second, and so on, so that siblings share beginnings.

Differs from `group`: branch^depth responses cost fewer sampled tokens, and steps that begin with the same text can be
compared. Level d forks where step d ends, a place that depends on nothing after it: each response by itself is a plain
sample of the policy, and only siblings depend on one another. One that ends before it could fork stands there `branch`
times, which is what sampling its continuation again would give. The parts between forks are the steps of the formulas.
Exact, about what trains: a shared token is an action token of every response that runs through it, with the log-prob
and version of when it was sampled; it is trained once for each of them, with that response's advantage and weight.
Source: Tree-GRPO (arXiv:2509.21240), section 3, and TreeRL (arXiv:2506.11902), section 3. The places of the forks are
ours: the papers choose random nodes and uncertain tokens of finished responses.
"""

from __future__ import annotations

from rldsl.algebra.expr import STATE
from rldsl.axes.choice import Example, tokens
from rldsl.axes.structure import Fork, Structured
from rldsl.axes.traits import SIBLINGS
from rldsl.axes.types import Count, NonNegative, OpenFraction, Responses, Tokens


class Tree(Structured):
    positional = 2
    decided_by = {SIBLINGS: "branch"}
    branch: Responses  # continuations at each fork, the first one among them
    depth: Count  # parts from the prompt to the end of a response
    max_tokens: Tokens  # most tokens in a response
    temperature: NonNegative = 1.0  # divides the logits; applied to every log-prob alike
    top_p: OpenFraction | None = None  # smallest set of tokens with this probability
    top_k: Count | None = None  # most likely tokens only
    stop: tuple[str, ...] = ()  # texts that end a response

    def siblings(self) -> int:
        return self.branch**self.depth

    def started(self) -> int:
        return self.branch

    def forks(self) -> tuple[Fork, ...]:
        return tuple(Fork(level, self.branch - 1) for level in range(1, self.depth))

    def divides(self) -> frozenset[str]:
        return frozenset({STATE})


EXAMPLES = [Example("the first step of one tree, whose responses earn 1 and 0, and that of another, which earn nothing",
                    {"branch": 2, "depth": 2, "max_tokens": 8},
                    [tokens(1, 1, reward=r, steps=[0, 1], states=["", s])
                     for r, s in ((1.0, "a"), (0.0, "a"), (0.0, "b"), (0.0, "b"))],
                    {"advantage": [[0.5, 1.25], [0.5, -0.75], [-0.5, -0.25], [-0.5, -0.25]]},
                    {"advantage": "tree_values(reweight: false)"})]
