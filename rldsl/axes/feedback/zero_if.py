"""A response in which a detector finds a hack has score 0, before any comparison with its siblings.

Differs from a penalty: nothing that the sources gave is left, and a hack that passes the verifier is not correct.
The detector is a source: above 0 is a hit. Its own score is no reward.
Source: MiMo-V2 technical report and Kimi K2.5 technical report: confirmed hacks are zeroed before group statistics.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, gt, where
from rldsl.axes.base import Source, Veto
from rldsl.axes.choice import Example, one_token
from rldsl.axes.feedback.format import Format


class ZeroIf(Veto):
    positional = 1
    detector: Source  # scores above 0 what is a hack

    def inner(self) -> Source:
        return self.detector

    def factor(self, found: Expr) -> Expr:
        return where(gt(found, 0.0), 0.0, 1.0)


EXAMPLES = [Example("no score is left of what is detected; probe is given the sum of the sources as it is",
                    {"detector": Format("sys.exit.*")}, [one_token(reward=1.0)], {"reward": [1.0]})]
