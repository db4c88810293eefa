"""Repeat in training a discontinuous choice that sampling made, so that both engines score the same event.

`routing`: the experts that each token was routed to when it was sampled, spliced over weight versions; the gates are
still computed by the trainer, so gradients flow. `candidates`: the tokens that top-p or top-k left to choose from; the
training log-prob is renormalised over them.
Differs from `tis`: removes the mismatch instead of weighing it.
Source: rollout routing replay, R3 (arXiv:2510.11370), section 3; keep-sampling-mask in DeepSeek-V3.2
(arXiv:2512.02556), section 3.1.
"""

from __future__ import annotations

from typing import Any, Literal

from rldsl.axes.alignment import Alignment
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import CANDIDATES_REPLAY, ROUTING_REPLAY, Trait


class Replay(Alignment):
    positional = 1
    decided_by = {ROUTING_REPLAY: "what", CANDIDATES_REPLAY: "what"}
    what: Literal["routing", "candidates"]  # which choice of the sampler is repeated

    @property
    def gives(self) -> frozenset[Trait]:
        return frozenset({ROUTING_REPLAY if self.what == "routing" else CANDIDATES_REPLAY})

    def engines(self) -> dict[str, Any]:
        return {f"replay_{self.what}": True}


EXAMPLES = [Example("no factor of its own", {"what": "candidates"}, [one_token()], {"correction": [[1.0]]}),
            Example("nor has this one", {"what": "routing"}, [one_token()], {"correction": [[1.0]]})]
