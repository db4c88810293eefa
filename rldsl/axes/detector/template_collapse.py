"""The responses no longer depend on the prompt: fixed templates, however varied they look.

Looks at how much of a token's entropy the prompt explains (`prompts/information`). Differs from `entropy_collapse`:
the entropy may stay high. Silent where the responses never depended on the prompt.
Source: RAGEN-2, which names the failure and proposes mutual information across inputs; the estimate is ours.
"""

from __future__ import annotations

from rldsl.axes.choice import Example
from rldsl.axes.detect import Detector, Seen
from rldsl.axes.types import OpenFraction

INFORMATION = "prompts/information"


class TemplateCollapse(Detector):
    reads = (INFORMATION,)
    remedy = ("keep prompts whose rewards vary most (snr), raise the reference KL, or reward what only the right "
              "answer to this prompt has")
    below: OpenFraction = 0.02  # share of a token's entropy that the prompt explains

    def sign(self, seen: Seen) -> bool:
        return bool(seen.first) and seen.last[INFORMATION] < self.below <= seen.first[INFORMATION]

    def evidence(self, seen: Seen) -> str:
        return (f"the prompt explains {max(0.0, seen.last[INFORMATION]):.1%} of a token's entropy, "
                f"{seen.first[INFORMATION]:.1%} in the beginning")

    def cause(self, seen: Seen) -> str:
        return "the same response is given to every prompt, so nothing about the prompt is being learned"


def _history(*shares: float) -> list[dict[str, float]]:
    return [{INFORMATION: x} for x in shares]


EXAMPLES = [
    Example("what depended on the prompt no longer does", batch=_history(*[0.3] * 5, *[0.001] * 10),
            expect={"speaks": [14]}),
    Example("less, but still there", batch=_history(*[0.3] * 5, *[0.1] * 12), expect={"speaks": []}),
    Example("an untrained policy never listened", batch=_history(*[0.001] * 12), expect={"speaks": []}),
]
