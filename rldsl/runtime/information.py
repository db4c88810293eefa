"""How much the responses depend on their prompts: mutual information between a prompt and a token of its responses."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence

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
    whole = Counter(t for r in responses for t in r)
    total = sum(whole.values())
    entropy = math.log(total) - sum(n * math.log(n) for n in whole.values()) / total if total else 0.0
    if entropy <= 1e-12:
        return 0.0
    dealt = list(responses)
    random.Random(f"information/{seed}").shuffle(dealt)
    return (_explained(groups, responses, whole, total) - _explained(groups, dealt, whole, total)) / entropy


def _explained(groups: Sequence[int], responses: Sequence[Sequence[int]], whole: Counter[int], total: int) -> float:
    """I(prompt; token) in nats: Σ n_xw/N · log(n_xw·N / (n_x·n_w))."""
    each: dict[int, Counter[int]] = {}
    for group, response in zip(groups, responses, strict=True):
        each.setdefault(group, Counter()).update(response)
    found = 0.0
    for counts in each.values():
        size = sum(counts.values())
        found += sum(n * math.log(n * total / (size * whole[token])) for token, n in counts.items())
    return found / total
