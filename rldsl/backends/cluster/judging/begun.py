"""A sampler of responses whose beginnings another model writes."""

from __future__ import annotations

from collections.abc import Sequence

from rldsl.backends.cluster.rollout.rollouts import Rollouts
from rldsl.runtime.trajectory import Request, SamplingOptions, Trajectory

from .judges import Judges


class Begun:
    """Implements `rldsl.runtime.protocols` RolloutEngine: engines sample from the policy, `judges` from others."""

    def __init__(self, rollouts: Rollouts, judges: Judges):
        self._rollouts, self._judges = rollouts, judges

    @property
    def version(self) -> int:
        """Of the policy's weights that sample; tokens of the other models have it too, as in one process."""
        return self._rollouts.version

    def sample(self, requests: Sequence[Request], options: SamplingOptions, *, batch: int,
               greedy: bool = False, policy: str = "current") -> list[Trajectory]:
        """See RolloutEngine. A beginning is never greedy."""
        if policy == "current":
            return self._rollouts.sample(requests, options, batch=batch, greedy=greedy)
        return self._judges.sample(policy, requests, options, batch=batch, version=self.version)
