"""The standard metric names, with what each one is. Journal, tracker, live view and report use the same."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """`name` in journal and tracker, `title` for people, `style` of writing it (number, share or rate), and
    what is measured over what."""

    name: str
    title: str
    style: str
    definition: str


REWARD = Metric("reward/mean", "reward", "number",
                "mean over the batch's scored responses of the raw sum of feedback sources, before shaping")
HELD_OUT = Metric("held_out/score", "held-out", "number",
                  "mean score on held-out problems, which training never sees")
GRAD_NORM = Metric("grad_norm", "grad norm", "number", "L2 norm of the gradient before clipping, mean over updates")
UNIFORM = Metric("groups/uniform", "uniform groups", "share",
                 "share of the batch's groups whose raw scores are all equal, so that no response stands out")
TRUNCATED = Metric("responses/truncated", "truncated", "share", "share of responses ended by the length limit")
UNSCORED = Metric("responses/unscored", "unscored", "share", "share of responses that scoring failed on")
LENGTH = Metric("responses/length", "length", "number", "mean number of tokens per response")
KEPT = Metric("responses/kept", "kept", "share", "share of generated responses that filters left in the batch")
LOSS = Metric("loss", "loss", "number", "minus the objective: policy term and regularisers, mean over updates")
ENTROPY = Metric("entropy", "entropy", "number", "mean entropy in nats at action tokens, current policy")
TOKENS_PER_SECOND = Metric("tokens_per_second", "tokens/s", "rate",
                           "response tokens of the batch per second of the whole step")
STEP_SECONDS = Metric("step_seconds", "s/step", "number", "wall-clock seconds of the whole step")

STANDARD = (REWARD, HELD_OUT, GRAD_NORM, UNIFORM, TRUNCATED, UNSCORED, KEPT, LENGTH, LOSS, ENTROPY,
            TOKENS_PER_SECOND, STEP_SECONDS)
SHOWN = (REWARD, HELD_OUT, GRAD_NORM, UNIFORM, TRUNCATED, TOKENS_PER_SECOND)
BY_NAME = {metric.name: metric for metric in STANDARD}


def metric(name: str) -> Metric:
    """The standard metric of that name, or a plain number for a name that is none."""
    return BY_NAME.get(name) or Metric(name, name, "number", "")


def written(value: float | None, style: str) -> str:
    """A value for people: three significant digits, shares in per cent, `–` where there is none."""
    if value is None:
        return "–"
    if style == "share":
        return f"{value:.0%}"
    return f"{value:,.0f}" if style == "rate" else f"{value:.3g}"
