"""Only the tokens at which the policy is most uncertain train: the given share of the batch's action tokens.

Differs from an entropy bonus: nothing is added; the other tokens' terms are 0, and they stay in every denominator.
The entropy is the policy's at the batch's start; tokens of equal entropy are treated alike.
Source: Wang et al., "Beyond the 80/20 Rule" (arXiv:2506.01939), equation 5: the top 20 %.
"""

from __future__ import annotations

from rldsl.algebra.expr import UPDATE, Expr, above, lt, sg, total, where
from rldsl.algebra.variables import ENTROPY, TOKENS
from rldsl.axes.base import SamplingStage
from rldsl.axes.choice import Example, tokens
from rldsl.axes.types import OpenFraction


class TopEntropyTokens(SamplingStage):
    positional = 1
    share: OpenFraction = 0.2  # of the batch's action tokens

    def trains(self) -> Expr:
        higher = above(sg(ENTROPY), UPDATE)
        return where(lt(higher, self.share * total(TOKENS, UPDATE)), 1.0, 0.0)


EXAMPLES = [Example("the second of two tokens is the uncertain one", {"share": 0.5},
                    [tokens(1, 1, reward=1.0, entropy=[0.1, 2.0])],
                    {"correction": [[0.0, 1.0]], "gradient": [[0.0, -1.0]]})]
