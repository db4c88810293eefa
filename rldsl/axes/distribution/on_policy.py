"""No correction: the data was made by the weights that the update starts from.

Asserts lag 0 at the start of the update phase; several updates per batch are the ratio's business.
Differs from `tis`: trusts that both engines agree, and says so in the metrics.
Source: the on-policy setting of PPO (arXiv:1707.06347).
"""

from __future__ import annotations

from rldsl.axes.base import Distribution
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import ASSERTS_FRESH


class OnPolicy(Distribution):
    gives = {ASSERTS_FRESH}


EXAMPLES = [Example("factor 1", {}, [one_token()], {"correction": [[1.0]]})]
