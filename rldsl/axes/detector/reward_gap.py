"""What is rewarded in training is not what is measured on held-out problems: memorised, or exploited.

Looks at the training score (the correctness term where there is one) less the held-out score, against the same in the
run's first evaluations, in the batches that follow an evaluation: these are sampled by the weights that were evaluated.
Held-out tasks that are harder from the start are silent.
Source: Gao, Schulman and Hilton (arXiv:2210.10760), on proxy and gold reward parting; the size is ours.
"""

from __future__ import annotations

from collections.abc import Mapping

from rldsl.axes.choice import Example
from rldsl.axes.detect import Detector, Seen
from rldsl.axes.types import Batches, Positive

HELD_OUT, CORRECT, REWARD = "held_out/score", "correct/mean", "reward/mean"


class RewardGap(Detector):
    reads = (HELD_OUT, REWARD)
    also = (CORRECT,)
    remedy = "look at sampled responses for exploits of the reward, train on more prompts, or stop earlier"
    patience: Batches = 3  # batches after an evaluation, in a row, in which the sign must hold
    above: Positive = 0.2  # growth of training score − held-out score, in units of the score

    def sign(self, seen: Seen) -> bool:
        return bool(seen.first) and gap(seen.last) - max(0.0, gap(seen.first)) > self.above

    def evidence(self, seen: Seen) -> str:
        return (f"the training score is {score(seen.last):.3g} and the held-out score {seen.last[HELD_OUT]:.3g}; in "
                f"the beginning {score(seen.first):.3g} and {seen.first[HELD_OUT]:.3g}")

    def cause(self, seen: Seen) -> str:
        return "the policy gets better at the training prompts or at their reward, and not at the task"


def score(metrics: Mapping[str, float]) -> float:
    """The training score that held-out problems are scored like."""
    return metrics.get(CORRECT, metrics[REWARD])


def gap(metrics: Mapping[str, float]) -> float:
    """Training less held-out score."""
    return score(metrics) - metrics[HELD_OUT]


def _history(*pairs: tuple[float, float]) -> list[dict[str, float]]:
    return [{REWARD: r, HELD_OUT: h} for r, h in pairs]


EXAMPLES = [
    Example("training rises, held-out falls", batch=_history(*[(0.3, 0.3)] * 3, *[(0.9, 0.2)] * 5),
            expect={"speaks": [6]}),
    Example("both rise", batch=_history(*[(0.3, 0.4)] * 3, *[(0.9, 0.85)] * 9), expect={"speaks": []}),
    Example("harder held-out problems from the start", batch=_history(*[(0.6, 0.1)] * 3, *[(0.9, 0.3)] * 9),
            expect={"speaks": []}),
]
