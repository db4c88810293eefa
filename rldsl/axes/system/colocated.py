"""One pool of devices that samples and trains in turn.

Differs from `disaggregated`: no weights travel, but the two phases can never overlap.
Source: verl's hybrid engine (arXiv:2409.19256), section 4.
"""

from __future__ import annotations

from rldsl.axes.base import Placement


class Colocated(Placement):
    def shared(self) -> bool:
        return True


EXAMPLES: list = []
