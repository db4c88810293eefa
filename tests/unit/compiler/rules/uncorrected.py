"""No correction and no assertion: whatever the data is, it is used as it comes."""

from __future__ import annotations

from rldsl.axes.base import Distribution


class Uncorrected(Distribution):
    pass
