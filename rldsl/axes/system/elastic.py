"""Some devices always sample; the others sample too, and train when a batch is there.

Differs from `disaggregated`: the devices that train do not wait idle for a batch, they sample until it is complete.
What they had in flight when training begins goes on elsewhere, and when it has ended they take a fair share back.
`versions` as there.
Source: LongCat's DORA, dedicated generators beside devices of changing role.
"""

from __future__ import annotations

from rldsl.axes.base import Placement
from rldsl.axes.traits import SEPARATE_DEVICES
from rldsl.axes.types import Count


class Elastic(Placement):
    gives = {SEPARATE_DEVICES}
    sized_by = {"rollout": "dedicated", "train": "flexible"}
    dedicated: Count  # devices that only sample
    flexible: Count  # devices that train, and sample while there is nothing to train
    versions: Count = 1  # sets of weights that are served at once

    def shared(self) -> bool:
        return False

    def lends(self) -> bool:
        return True

    def samples(self, training: bool) -> float:
        return self.dedicated / (self.dedicated + self.flexible) if training else 1.0

    def serves(self) -> int:
        return self.versions


EXAMPLES: list = []
