"""Chunked log-probs equal the plain formula, in value and gradient."""

from __future__ import annotations

import pytest
import torch

from rldsl.backends.local.training import logprob
from rldsl.backends.local.training.logprob import token_statistics
from rldsl.runtime.trajectory import SamplingOptions

N, D, V = 37, 12, 50


@pytest.fixture
def problem():
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(N, D, generator=generator)
    head = torch.randn(V, D, generator=generator)
    return (hidden.requires_grad_(), head.requires_grad_(), torch.randint(0, V, (N,), generator=generator),
            (torch.randn(N, D, generator=generator), torch.randn(V, D, generator=generator)))


def plain(hidden, head, targets, reference, options):
    """The definition, with everything materialised."""
    logits = (hidden @ head.t()) / options.temperature
    kept = torch.ones_like(logits, dtype=torch.bool)
    if options.top_k:
        kept &= logits >= logits.topk(options.top_k).values[:, -1:]
    if options.top_p:
        p = logits.masked_fill(~kept, -torch.inf).softmax(-1)
        for n in range(N):
            order = p[n].argsort(descending=True)
            inside = p[n][order].cumsum(0) - p[n][order] < options.top_p
            kept[n, order[~inside]] = False
    kept[torch.arange(N), targets] = True
    logp = logits.masked_fill(~kept, -torch.inf).log_softmax(-1)
    other = (reference[0] @ reference[1].t() / options.temperature).masked_fill(~kept, -torch.inf).log_softmax(-1)
    p, safe = logp.exp(), logp.masked_fill(~kept, 0)
    return (logp.gather(1, targets[:, None])[:, 0], -(p * safe).sum(-1),
            (p * (safe - other.masked_fill(~kept, 0))).sum(-1), (p * p).sum(-1))


@pytest.mark.parametrize("chunk", [16 * V, 2**22])
def test_recorded_candidates_are_the_distribution_whatever_truncation_says(problem, chunk, monkeypatch):
    monkeypatch.setattr(logprob, "CHUNK_LOGITS", chunk)
    hidden, head, targets, reference = problem
    options = SamplingOptions(temperature=0.7, max_tokens=1, top_k=2)
    ids = torch.stack([targets, (targets + 3) % V, (targets + 1) % V, targets], dim=1)
    kept = torch.zeros(N, V, dtype=torch.bool).scatter(1, ids, True)
    found = token_statistics(hidden, head, targets, options, candidates=ids, entropy=True, reference=reference,
                             squares=True)
    logp = (hidden @ head.t() / 0.7).masked_fill(~kept, -torch.inf).log_softmax(-1)
    other = (reference[0] @ reference[1].t() / 0.7).masked_fill(~kept, -torch.inf).log_softmax(-1)
    p, safe = logp.exp(), logp.masked_fill(~kept, 0)
    wanted = (logp.gather(1, targets[:, None])[:, 0], -(p * safe).sum(-1),
              (p * (safe - other.masked_fill(~kept, 0))).sum(-1), (p * p).sum(-1))
    for ours, theirs in zip(found, wanted, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)
    ours = torch.autograd.grad(sum(x.sum() for x in found), (hidden, head))
    theirs = torch.autograd.grad(sum(x.sum() for x in wanted), (hidden, head))
    for a, b in zip(ours, theirs, strict=True):
        assert (a - b).abs().max() < 1e-5 * b.abs().max()


@pytest.mark.parametrize("chunk", [16 * V, 2**22])
@pytest.mark.parametrize("change", [{}, {"temperature": 0.5}, {"top_k": 5}, {"top_p": 0.7},
                                    {"top_k": 8, "top_p": 0.9, "temperature": 1.5}])
def test_values_and_gradients_equal_the_definition(problem, change, chunk, monkeypatch):
    monkeypatch.setattr(logprob, "CHUNK_LOGITS", chunk)
    hidden, head, targets, reference = problem
    options = SamplingOptions(**{"temperature": 1.0, "max_tokens": 1} | change)
    found = token_statistics(hidden, head, targets, options, entropy=True, reference=reference, squares=True)
    wanted = plain(hidden, head, targets, reference, options)
    upstream = [torch.randn(N, generator=torch.Generator().manual_seed(i)) for i in range(4)]
    for ours, theirs in zip(found, wanted, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)
    ours = torch.autograd.grad(sum((x * u).sum() for x, u in zip(found, upstream, strict=True)), (hidden, head))
    theirs = torch.autograd.grad(sum((x * u).sum() for x, u in zip(wanted, upstream, strict=True)), (hidden, head))
    for a, b in zip(ours, theirs, strict=True):
        assert (a - b).abs().max() < 1e-5 * b.abs().max()


def test_temperature_example_of_the_rules():
    hidden, head = torch.tensor([[1.0]]), torch.tensor([[2.0], [0.0]])
    found = token_statistics(hidden, head, torch.tensor([0]), SamplingOptions(0.5, 1))
    assert found.logp.item() == pytest.approx(-0.01815, abs=1e-5)


def test_what_is_not_asked_for_is_not_computed(problem):
    hidden, head, targets, _ = problem
    found = token_statistics(hidden, head, targets, SamplingOptions(1.0, 1))
    assert found.entropy is None and found.kl is None


def test_log_probs_of_bfloat16_states_are_float32(problem):
    hidden, head, targets, _ = problem
    found = token_statistics(hidden.bfloat16(), head.bfloat16(), targets, SamplingOptions(1.0, 1))
    assert found.logp.dtype == torch.float32
    found.logp.sum().backward()
    assert hidden.grad.dtype == torch.float32 and hidden.grad.abs().sum() > 0


def test_only_one_of_several_quantities_may_carry_a_gradient(problem):
    hidden, head, targets, reference = problem
    found = token_statistics(hidden, head, targets, SamplingOptions(1.0, 1), entropy=True, reference=reference)
    found.kl.sum().backward()
    assert hidden.grad.abs().sum() > 0


def test_greedy_has_no_log_prob(problem):
    hidden, head, targets, _ = problem
    with pytest.raises(ValueError, match="temperature"):
        token_statistics(hidden, head, targets, SamplingOptions(0.0, 1))


def test_peak_memory_is_a_chunk_not_the_vocabulary(monkeypatch):
    """Largest tensor allocated on the way: far below tokens × vocabulary."""
    sizes = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            sizes.extend(x.numel() for x in torch.utils._pytree.tree_leaves(out) if isinstance(x, torch.Tensor))
            return out

    monkeypatch.setattr(logprob, "CHUNK_LOGITS", 2**14)
    tokens, vocabulary = 512, 4096
    hidden = torch.randn(tokens, 4, requires_grad=True)
    head = torch.randn(vocabulary, 4, requires_grad=True)
    with Watch():
        found = token_statistics(hidden, head, torch.zeros(tokens, dtype=torch.int64), SamplingOptions(1.0, 1))
        found.logp.sum().backward()
    assert max(sizes) <= 16 * vocabulary < tokens * vocabulary / 8
