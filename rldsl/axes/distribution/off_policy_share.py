"""Bound the share of a batch's responses that older weights sampled: the oldest leave first.

Differs from `max_lag`: bounds how many are old, not how old one may be.
Exact: a response is off-policy by the age of its oldest token; with n fresh ones, off-policy ones stay from the
youngest on while their number is at most n·share/(1 − share). Responses of one age stay or leave together
(which ones leave is ours).
Source: DeepSeek-V4.1 technical report, bound on the off-policy share (the bound is unpublished).
"""

from __future__ import annotations

from typing import Annotated

from rldsl.algebra.expr import RESPONSE, UPDATE, Expr, above, either, gt, le, lowest, total, where
from rldsl.algebra.variables import RESPONSES, TRAINER_VERSION, VERSION
from rldsl.axes.base import Distribution
from rldsl.axes.choice import Example, one_token
from rldsl.axes.types import Bound, Unit


class OffPolicyShare(Distribution):
    positional = 1
    share: Annotated[float, Bound(ge=0, lt=1), Unit("fraction")]  # largest share of off-policy responses

    def stays(self) -> Expr:
        age = TRAINER_VERSION - lowest(VERSION, RESPONSE)
        old = total(where(gt(age, 0), RESPONSES, 0.0), UPDATE)
        fresh = total(RESPONSES, UPDATE) - old
        no_older = old - above(age, UPDATE)
        return either(le(age, 0), le(no_older, fresh * (self.share / (1 - self.share))))


EXAMPLES = [Example("two fresh ones allow two old ones at one half", {"share": 0.5},
                    [one_token(versions=[v]) for v in (10, 10, 9, 8, 7)],
                    {"kept": [True, True, True, True, False]}, trainer_version=10)]
