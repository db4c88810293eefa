"""Keep the beginning of one response and sample n endings: training goes where the outcome is decided.

Differs from `group`: all n responses to a prompt begin with one text. It is context to them: no action token, in no
ratio, mean or loss. Where it ends is found by continuing each step of one response, which is not trained on either,
`probes` times. `pivot` restarts where the outcomes of these continuations differ most. `first_error` restarts where the
first step begins after which none of them succeeds, though some did before it; without such a step, with the prompt.
Exact: pivot is the state with the largest std of the continuations' scores; a step is an error if the best of the
continuations after it (or the response's own score, after the last) is 0, while that before it is above 0.
Source: PivotRL (arXiv:2603.21383), section 3: turns whose local rollouts vary most in outcome. An error as a step that
no completion saves: Math-Shepherd (arXiv:2312.08935), equation 3, hard estimation. Text instead of turns is ours.
"""

from __future__ import annotations

from typing import Annotated, Literal

from rldsl.algebra.expr import STEP, Expr, both, gt, le, total
from rldsl.algebra.units import after, at_first
from rldsl.algebra.variables import LAST, MC_SPREAD, MC_VALUE, SCORES
from rldsl.axes.choice import Example, rewards
from rldsl.axes.structure import Restart, Structured
from rldsl.axes.traits import SIBLINGS
from rldsl.axes.types import Bound, Count, NonNegative, OpenFraction, Responses, Tokens


class ReplayPrefix(Structured):
    positional = 1
    decided_by = {SIBLINGS: "n"}
    at: Literal["pivot", "first_error"]  # where the beginning that is kept ends
    n: Responses  # endings that are trained on
    max_tokens: Tokens  # most tokens in a response, with what it begins with
    probes: Annotated[int, Bound(ge=2)] = 4  # continuations of each step by which the place is found
    temperature: NonNegative = 1.0  # divides the logits; applied to every log-prob alike
    top_p: OpenFraction | None = None  # smallest set of tokens with this probability
    top_k: Count | None = None  # most likely tokens only
    stop: tuple[str, ...] = ()  # texts that end a response

    def siblings(self) -> int:
        return self.n

    def restart(self) -> Restart:
        return Restart(self.probes, self._choose())

    def _choose(self) -> Expr:
        if self.at == "pivot":
            return at_first(MC_SPREAD, STEP)
        ahead = after(MC_VALUE, STEP) + total(LAST * SCORES, STEP)
        return both(gt(at_first(MC_VALUE, STEP), 0.0), le(ahead, 0.0))


EXAMPLES = [Example("endings of one beginning are siblings", {"at": "pivot", "n": 2, "max_tokens": 8},
                    rewards(1.0, 0.0), {"advantage": [0.5, -0.5]}, {"advantage": "group_mean"})]
