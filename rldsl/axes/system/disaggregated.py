"""Separate pools of devices for sampling and for training.

Differs from `colocated`: the two can overlap, at the price of sending weights. On a cluster without GPUs the numbers
count processes. With `versions` above 1 the engines go on serving older weights beside the newest, and each response
is finished by the version that began it.
Source: asynchronous RLHF, Noukhovitch et al. (arXiv:2410.18252); AReaL (arXiv:2505.24298), section 4; LongCat's DORA
for several versions.
"""

from __future__ import annotations

from rldsl.axes.base import Placement
from rldsl.axes.traits import SEPARATE_DEVICES
from rldsl.axes.types import Count


class Disaggregated(Placement):
    gives = {SEPARATE_DEVICES}
    sized_by = {"rollout": "rollout", "train": "train"}
    rollout: Count  # devices that sample
    train: Count  # devices that train
    versions: Count = 1  # sets of weights that are served at once

    def shared(self) -> bool:
        return False

    def serves(self) -> int:
        return self.versions


EXAMPLES: list = []
