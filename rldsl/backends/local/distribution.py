"""The one distribution: temperature and truncation, applied alike by the sampler and by every log-prob."""

from __future__ import annotations

import torch
from torch import Tensor

from rldsl.runtime.trajectory import SamplingOptions


def scaled(logits: Tensor, options: SamplingOptions) -> Tensor:
    """Float32 logits [n, V] over the temperature; what truncation removes is -inf.

    top_k first, then top_p on what is left, as vLLM and transformers do. Tokens that tie with the last kept
    one are kept. The temperature must be positive (ValueError): greedy choice has no density.
    """
    if not options.temperature > 0:
        raise ValueError(f"log-probs need a temperature above 0, not {options.temperature}")
    logits = logits.float()
    if options.temperature != 1:
        logits = logits / options.temperature
    if options.top_k is not None and options.top_k < logits.shape[-1]:
        smallest = logits.topk(options.top_k, dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < smallest, -torch.inf)
    if options.top_p is not None and options.top_p < 1:
        logits = logits.masked_fill(logits < _nucleus_floor(logits, options.top_p), -torch.inf)
    return logits


def _nucleus_floor(logits: Tensor, top_p: float) -> Tensor:
    """The smallest logit of the smallest set whose probability reaches `top_p`, [n, 1]."""
    ordered = logits.sort(dim=-1, descending=True).values
    probabilities = ordered.softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities
    return ordered.masked_fill(before >= top_p, torch.inf).amin(dim=-1, keepdim=True)


def truncates(options: SamplingOptions) -> bool:
    """Whether some tokens cannot be sampled."""
    return options.top_k is not None or (options.top_p is not None and options.top_p < 1)
