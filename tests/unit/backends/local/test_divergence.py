"""Chunked divergences equal their plain-Python definition, in value and gradient, for one teacher and several."""

from __future__ import annotations

import math

import pytest
import torch

from rldsl.algebra.divergence import Divergence, divergence, named
from rldsl.backends.local.load import load_policy
from rldsl.backends.local.training import logprob
from rldsl.backends.local.training.divergence import Sides, token_divergence
from rldsl.backends.local.training.forward import forward
from rldsl.backends.local.training.teachers import Teachers
from rldsl.runtime.trajectory import SamplingOptions, Trajectory

N, D, V = 19, 6, 23
KINDS = [Divergence(kind, temperature=t, beta=b) for kind, t, b in (
    ("reverse_kl", 1.0, 0.5), ("forward_kl", 1.0, 0.5), ("jsd", 1.0, 0.5), ("jsd", 2.0, 0.2), ("reverse_kl", 0.5, 0.5))]
SPECS = [*KINDS, *(Divergence(s.kind, top, rescaled, s.temperature, s.beta)
                   for s in KINDS[:4] for top in (1, 5, V) for rescaled in (True, False))]


def sides(seed: int = 0) -> Sides:
    draw = torch.Generator().manual_seed(seed)
    shapes = ((N, D), (V, D), (N, D + 2), (V, D + 2))
    hidden, head, *other = (torch.randn(*shape, generator=draw, dtype=torch.float64).float() for shape in shapes)
    return Sides(hidden.requires_grad_(), head.requires_grad_(), *other)


def by_definition(s: Sides, spec: Divergence, row: int, moved: tuple[int, float] = (0, 0.0)) -> float:
    """In plain Python, with one logit of the policy moved."""
    own = (s.hidden[row].double() @ s.head.double().t()).tolist()
    own[moved[0]] += moved[1]
    return divergence(own, (s.other_hidden[row].double() @ s.other_head.double().t()).tolist(), spec)


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.name)
@pytest.mark.parametrize("chunk", [32 * V, 2**22])
def test_value_and_gradient_are_the_definition_s(spec, chunk, monkeypatch):
    monkeypatch.setattr(logprob, "CHUNK_LOGITS", chunk)
    s = sides()
    found = token_divergence(s, torch.zeros(N, dtype=torch.int64), SamplingOptions(1.0, 1), spec)
    for row in range(N):
        assert found[row].item() == pytest.approx(by_definition(s, spec, row), rel=2e-5, abs=1e-5)
    own, head = torch.autograd.grad(found[3], (s.hidden, s.head))
    step = 1e-5
    slopes = [(by_definition(s, spec, 3, (v, step)) - by_definition(s, spec, 3, (v, -step))) / (2 * step)
              for v in range(V)]
    expected = torch.tensor(slopes)
    assert torch.allclose(own[3], expected @ s.head, atol=2e-4)
    assert torch.allclose(head, torch.outer(expected, s.hidden[3]), atol=2e-4)
    assert own[:3].abs().max() == 0


def test_a_name_says_exactly_what_is_computed():
    for spec in SPECS:
        assert named(spec.name) == spec


def test_equal_policies_are_at_no_distance():
    s = sides()
    same = s._replace(other_hidden=s.hidden.detach(), other_head=s.head.detach())
    for spec in SPECS:
        found = token_divergence(same, torch.zeros(N, dtype=torch.int64), SamplingOptions(0.7, 1), spec)
        assert found.abs().max() < 1e-5
        if spec.rescaled:
            assert torch.autograd.grad(found.sum(), s.hidden)[0].abs().max() < 1e-4


def test_tokens_that_cannot_be_sampled_are_left_out():
    s, options = sides(), SamplingOptions(1.0, 1, top_k=4)
    logits = s.hidden @ s.head.t()
    targets = logits.argmax(1)
    found = token_divergence(s, targets, options, KINDS[0])
    for row in range(N):
        kept = logits[row].topk(4).indices
        own, other = logits[row][kept].tolist(), (s.other_hidden[row] @ s.other_head.t())[kept].tolist()
        assert found[row].item() == pytest.approx(divergence(own, other, KINDS[0]), abs=1e-5)


def test_unlikely_tokens_do_no_harm():
    far = torch.tensor([[200.0], [-200.0], [0.0]])
    for spec in SPECS[:4]:
        hidden = torch.ones(1, 1, requires_grad=True)
        found = token_divergence(Sides(hidden, far, torch.ones(1, 1), -far), torch.tensor([0]), SamplingOptions(1.0, 1),
                                 spec)
        found.sum().backward()
        assert math.isfinite(found.item()) and bool(hidden.grad.isfinite().all())


def rows() -> list[Trajectory]:
    return [Trajectory(i, 0, i, (5, 6 + i), (7, 8, 9)[:n], (0.0,) * n, (0,) * n, "stop", "")
            for i, n in enumerate((3, 1, 2, 3))]


def test_several_teachers_are_averaged_or_each_scores_its_own_rows():
    policy, one, other = (load_policy(spec, "float32", seed)[0]
                          for seed, spec in enumerate(("toy:llama-1x16", "toy:llama-1x16", "toy:llama-1x32")))
    name, options = Divergence("forward_kl").name, SamplingOptions(1.0, 4)

    def measured(teachers: Teachers, **cut) -> torch.Tensor:
        return forward(policy, rows(), frozenset({name, "logp_current"}), options, grad=True, teachers=teachers,
                       **cut)[name]

    alone = [measured(Teachers((t,))) for t in (one, other)]
    both = measured(Teachers((one, other)))
    assert torch.allclose(both, (alone[0] + alone[1]) / 2, atol=1e-7)
    assigned = measured(Teachers((one, other), [0, 1, 1, 0].__getitem__), micro_tokens=6)
    owner = torch.tensor([0, 0, 0, 1, 1, 1, 0, 0, 0], dtype=torch.bool)
    assert torch.allclose(assigned, torch.where(owner, alone[1], alone[0]), atol=1e-6)
    gradients = [torch.autograd.grad(x.sum(), policy.embed, retain_graph=True)[0] for x in (both, *alone)]
    assert torch.allclose(gradients[0], (gradients[1] + gradients[2]) / 2, atol=1e-6)
