"""What the data set says of a response that it holds: 1 for the preferred or good one and for a demonstration, else 0.

Differs from `verify`: nothing is scored; the verdict comes with the response, so only stored responses have one.
Source: DPO (arXiv:2305.18290), section 3, preferences as the data set's y_w and y_l.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr
from rldsl.algebra.variables import CHOSEN
from rldsl.axes.base import Dense
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import STORED


class Preferences(Dense):
    needs = {STORED}

    def shape(self) -> Expr:
        return CHOSEN


EXAMPLES = [Example("a good response and a bad one", {}, [one_token(reward=0.0, chosen=c) for c in (1, 0)],
                    {"reward": [1.0, 0.0]}, {"sampling": "offline(labels, max_tokens: 8)"})]
