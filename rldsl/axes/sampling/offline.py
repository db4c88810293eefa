"""Responses come from the data set: pairs of which one is preferred, responses labelled good or bad, demonstrations.

Differs from `group`: nothing is sampled, so nothing was recorded when it was sampled, and no correction for old data
is possible. `pairs` reads the columns `chosen` and `rejected`, `labels` reads `response` and `label` (true or false),
`demonstrations` learns the row's own answer.
Source: DPO (arXiv:2305.18290), section 4, and KTO (arXiv:2402.01306), section 4, for the two kinds of judgement.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import PAIR
from rldsl.algebra.variables import CHOSEN
from rldsl.axes.base import Sampler
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import LENGTH_LIMIT, SIBLINGS, STORED, Trait
from rldsl.axes.types import Positive, Stored, Tokens

COLUMNS = {"pairs": ("chosen", "rejected"), "labels": ("response", "label"), "demonstrations": ()}


class Offline(Sampler):
    positional = 1
    decided_by = {SIBLINGS: "what", STORED: "what"}
    what: Literal["pairs", "labels", "demonstrations"]  # what a row of the data set holds
    max_tokens: Tokens  # most tokens in a stored response, and in a sampled one where the policy is evaluated
    temperature: Positive = 1.0  # divides the logits; applied to every log-prob alike
    chosen: str = "chosen"  # column of the preferred response
    rejected: str = "rejected"  # column of the other response
    response: str = "response"  # column of the labelled response
    label: str = "label"  # column that says whether it is good
    top_p = top_k = None
    stop = ()

    @property
    def gives(self) -> frozenset[Trait]:
        return frozenset({LENGTH_LIMIT, STORED} | ({SIBLINGS} if self.what == "pairs" else set()))

    def siblings(self) -> int:
        return 2 if self.what == "pairs" else 1

    def stored(self) -> Stored:
        if self.what == "pairs":
            return Stored((self.chosen, self.rejected), (1, 0), pairs=True)
        return Stored((self.response,), label=self.label) if self.what == "labels" else Stored((), (1,))

    def provides(self) -> frozenset[str]:
        return frozenset({CHOSEN.name})

    def divides(self) -> frozenset[str]:
        return frozenset({PAIR} if self.what == "pairs" else ())

    def unread(self) -> dict[str, str]:
        return {name: f"offline({what})" for what, names in COLUMNS.items() if what != self.what for name in names}


EXAMPLES = [
    Example("a demonstration, imitated", {"what": "demonstrations", "max_tokens": 8}, [one_token(reward=1.0)],
            {"gradient": [-1.0]}, {"ratio": "none", "advantage": "monte_carlo"}),
    Example("a pair, its rows beside one another", {"what": "pairs", "max_tokens": 8},
            [{"prompt": "p", "logp_current": [x]} for x in (-1.0, -2.0)], {"objective": -0.1269280},
            {"ratio": "none", "advantage": "none", "gate": "simpo(2.0, 0.0)", "reduction": "sequence_mean"}),
]
