"""When the context runs out, the policy writes a summary of it and goes on from there.

Differs from cutting the history: the summary is the policy's own, so its tokens are action tokens and are trained; what
lies between two summaries is a segment of one trajectory, and all segments share its reward. A trajectory stays one
response, however often it compacts.
Source: CompactionRL (Tsinghua; used in GLM-5.2): reserve 10240, keep 2.
"""

from __future__ import annotations

from rldsl.algebra.expr import SEGMENT
from rldsl.axes.choice import Example, tokens
from rldsl.axes.structure import Dividing
from rldsl.axes.traits import COMPACTS, MULTI_TURN
from rldsl.axes.types import Natural, Tokens


class Compaction(Dividing):
    needs = {MULTI_TURN}
    gives = {COMPACTS}
    engine = "a context that the policy compacts"
    reserve: Tokens = 10240  # tokens left in the context when a summary is asked for
    keep: Natural = 2  # newest steps that stand beside the summary unchanged

    def divides(self) -> frozenset[str]:
        return frozenset({SEGMENT})


EXAMPLES = [Example("the outcome at each segment's end, the first one decayed by two tokens", {},
                    [tokens(1, 1, 1, values=[0.0] * 3, segments=[0, 1, 1])], {"advantage": [[0.25, 0.5, 1.0]]},
                    {"advantage": "gae(lambda: 0.5, cross_segment: true)"})]
