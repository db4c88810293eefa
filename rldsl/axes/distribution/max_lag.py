"""Drop a response whose oldest token was sampled too many weight versions ago.

Differs from a correction: the response leaves before the advantage and leaves every denominator.
Source: GLM-5 technical report, asynchronous agentic RL (the threshold is unpublished).
"""

from __future__ import annotations

from rldsl.algebra.expr import RESPONSE, Expr, le, lowest
from rldsl.algebra.variables import TRAINER_VERSION, VERSION
from rldsl.axes.base import Distribution
from rldsl.axes.choice import Example
from rldsl.axes.traits import BOUNDS_LAG
from rldsl.axes.types import Natural


class MaxLag(Distribution):
    positional = 1
    gives = {BOUNDS_LAG}
    versions: Natural  # most versions between the trainer and the oldest token

    def stays(self) -> Expr:
        return le(TRAINER_VERSION - lowest(VERSION, RESPONSE), self.versions)


def _row(*versions: int) -> dict:
    return {"prompt": "p", "reward": 1.0, "logp_current": [-1.0] * 3, "logp_old": [-1.0] * 3,
            "versions": list(versions)}


EXAMPLES = [Example("trainer at 10: 6 is too old, 7 is not", {"versions": 3}, [_row(6, 7, 8), _row(7, 8, 9)],
                    {"kept": [False, True]})]
