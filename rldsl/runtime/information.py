"""How much the responses depend on their prompts: mutual information between a prompt and a token of its responses."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

TOKENS, RESPONSES = 64, 512
"""The first tokens of a response that are counted, and the responses of a batch: the cost has a bound."""


def information(groups: Sequence[int], responses: Sequence[Sequence[int]], seed: str) -> float | None:
    """The share of a token's entropy that its prompt explains: (I − I₀) / H.

    I is the plug-in mutual information between a response's prompt and its tokens, over the counts of the batch; few
    counts inflate it, so I₀, the same after the responses were dealt out to the prompts at random, is taken off.
    None where fewer than two prompts have two responses; 0 where every token is the same.
    """
    groups, responses = groups[:RESPONSES], [r[:TOKENS] for r in responses[:RESPONSES]]
    if sum(n > 1 for n in Counter(groups).values()) < 2:
        return None
    whole = Counter(chain.from_iterable(responses))
    total = sum(whole.values())
    entropy = math.log(total) - _spread(whole.values()) / total if total else 0.0
    if entropy <= 1e-12:
        return 0.0
    dealt = list(responses)
    random.Random(f"information/{seed}").shuffle(dealt)
    return (_told(groups, responses) - _told(groups, dealt)) / (total * entropy)


def _told(groups: Sequence[int], responses: Sequence[Sequence[int]]) -> float:
    """N·I(prompt; token) in nats, without what does not depend on who said what: Σ n_xw log n_xw − Σ n_x log n_x."""
    each: dict[int, list[int]] = {}
    for group, response in zip(groups, responses, strict=True):
        each.setdefault(group, []).extend(response)
    inside = sum(_spread(Counter(tokens).values()) for tokens in each.values())
    return inside - _spread(map(len, each.values()))


def _spread(counts: Iterable[int]) -> float:
    """Σ n log n."""
    return sum(n * math.log(n) for n in counts if n > 1)
