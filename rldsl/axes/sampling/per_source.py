"""Bound how many responses of one data source are in flight at a time.

A prompt whose source is at its limit lets later prompts pass, and is taken as soon as there is place. The source of a
prompt is its row's value in the column `by`.
Differs from `oversample`: draws nothing more and drops nothing; it decides whose turn it is.
Source: DeepSeek-V4.1 technical report, limits on concurrency by data set; MiMo, limits by source (sizes unpublished).
"""

from __future__ import annotations

from rldsl.axes.base import SamplingStage
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import EVENS_LENGTHS
from rldsl.axes.types import Responses


class PerSource(SamplingStage):
    positional = 1
    gives = {EVENS_LENGTHS}
    limit: Responses  # most responses of one source in flight; a group larger than this is alone
    by: str = "source"  # the column that names a row's source

    def at_once(self) -> tuple[str, int]:
        return self.by, self.limit


EXAMPLES = [Example("what was sampled is kept", {"limit": 8}, rewards(1.0, 0.0), {"kept": [True, True]})]
