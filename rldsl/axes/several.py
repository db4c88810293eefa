"""Several answers in one response: the sampler that cuts a response into them, the estimators that compare them."""

from __future__ import annotations

from rldsl.algebra.expr import Expr

from .base import Sampler, VectorEstimator

Parts = tuple[tuple[float, Expr], ...]
"""Each component of the reward with its weight; response grain."""


class SeveralAnswers(Sampler):
    """A response holds `m` answers, one after the other with `delimiter` between them. Every source of the feedback
    scores each answer by itself; where one number is wanted, it is the best answer's."""


class SetEstimator(VectorEstimator):
    """An estimator that sees the components of the reward of every answer in a response."""

    def combine_set(self, answers: tuple[Parts, ...]) -> Expr:
        """The advantage, from the components of each answer; response grain."""
        raise TypeError(f"{self.name} combines nothing")

    def combine(self, parts: Parts) -> Expr:
        """What `combine_set` gives where a response holds a single answer."""
        return self.combine_set((parts,))
