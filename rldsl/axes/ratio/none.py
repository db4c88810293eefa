"""No importance ratio: r ≡ 1, the plain policy gradient A·ℓ.

Differs from `token`: nothing corrects for the policy having moved since the data was made.
Source: Williams (1992), REINFORCE.
"""

from __future__ import annotations

from rldsl.axes.base import Ratio
from rldsl.axes.choice import Example, one_token


class NoRatio(Ratio):
    def ratio(self) -> None:
        return None


EXAMPLES = [Example("the gradient is A, the value A·ℓ", {}, [one_token(reward=2.0)],
                    {"gradient": [[-2.0]], "objective": -2.0, "ratio": [[1.0]]})]
