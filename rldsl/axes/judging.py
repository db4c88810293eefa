"""Scores that a model gives, asked in texts: reward models, judges of one response, judges of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rldsl.algebra.expr import Expr

from .base import Source

FIELDS = ("prompt", "response", "answer", "other")
"""What a question may name in braces: the problem's prompt, the response that is judged, the reference answer, and the
response that it is compared with."""


@dataclass(frozen=True)
class Asked:
    """How a model scores a response. `role` says which: the `reward` model, the `judge`, the `policy` as it is, or the
    `initial` policy.

    form "value": the reward model's number at the response's last token. form "questions": the mean over `questions`
    of P(yes)/(P(yes) + P(no)), each word being the model's whole reply. The other forms ask which of two responses is
    better, in both orders, by the chance that the reply is `words[0]`, the first one: "reference" compares with the
    reference answer, "tournament" with every sibling. A response of more than `longest` tokens loses to one that is
    not longer.
    """

    role: Literal["reward", "judge", "policy", "initial"]
    form: Literal["value", "questions", "reference", "tournament"]
    questions: tuple[str, ...] = ()
    words: tuple[str, str] = ("yes", "no")
    longest: float | None = None


def asked_from(**data: Any) -> Asked:
    """From its fields as JSON data."""
    return Asked(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items()})


class ModelSource(Source):
    """A source whose score a model gives."""

    def asked(self) -> Asked:
        """Which model is asked what."""
        raise TypeError(f"{self.name} asks nothing")

    def reward(self, score: Expr) -> Expr:
        """What the model's score is worth; response grain."""
        return score


def wrong_question(question: str, *needed: str) -> str | None:
    """What is wrong with a question's braces, or None: `needed` must be in it, and more than that: a response may be
    empty."""
    rest = question
    if any("{" + name + "}" not in question for name in needed):
        return f"must name {' and '.join('{' + n + '}' for n in needed)}"
    for name in FIELDS:
        rest = rest.replace("{" + name + "}", "")
    if set(rest) & set("{}"):
        return f"may name {', '.join('{' + n + '}' for n in FIELDS)} in braces and nothing else"
    return None if rest.strip() or "{prompt}" in question else "must ask something about {response}"


def filled(question: str, **texts: str) -> str:
    """A question with its fields replaced, at one go: braces inside the texts mean nothing."""
    out, rest = "", question
    while "{" in rest:
        before, _, rest = rest.partition("{")
        name, _, rest = rest.partition("}")
        out += before + texts[name]
    return out + rest
