"""The training forward: no result depends on how rows are split, ordered or padded."""

from __future__ import annotations

import pytest
import torch

from rldsl.backends.local.decoder import attention
from rldsl.backends.local.decoder.layout import micro_batches
from rldsl.backends.local.training.forward import Critic, forward, values
from rldsl.runtime.trajectory import SamplingOptions

from .conftest import row

OPTIONS = SamplingOptions(temperature=0.8, max_tokens=8)
ALL = frozenset({"logp_current", "entropy", "kl_exact", "squares"})


def gradients(policy, rows, micro_tokens, reference):
    policy.zero_grad()
    for piece in micro_batches(rows, micro_tokens):
        part = [rows[index] for index in piece]
        found = forward(policy, part, ALL, OPTIONS, grad=True, reference=reference)
        (found["logp_current"].sum() + 0.3 * found["entropy"].sum() - 0.2 * found["kl_exact"].sum()
         + 0.1 * found["squares"].sum()).backward()
    return torch.cat([parameter.grad.flatten() for parameter in policy.parameters()])


@pytest.mark.parametrize("micro_tokens", [1, 9, 16, 30])
def test_no_quantity_depends_on_the_split(policy, rows, reference, micro_tokens):
    whole = forward(policy, rows, ALL, OPTIONS, grad=False, reference=reference)
    split = forward(policy, rows, ALL, OPTIONS, grad=False, micro_tokens=micro_tokens, reference=reference)
    for name in ALL:
        assert whole[name].dtype == torch.float32
        assert torch.allclose(whole[name], split[name], rtol=1e-6, atol=1e-6), name


@pytest.mark.parametrize("micro_tokens", [1, 16])
def test_no_gradient_depends_on_the_split(policy, rows, reference, micro_tokens):
    whole, split = (gradients(policy, rows, m, reference) for m in (None, micro_tokens))
    assert (whole - split).abs().max() < 1e-6 * whole.abs().max()


def test_order_of_rows_only_orders_the_result(policy, rows):
    want = frozenset({"logp_current"})
    forwards = forward(policy, rows, want, OPTIONS, grad=False)["logp_current"]
    order = [4, 0, 2, 5, 1, 3]
    mixed = forward(policy, [rows[i] for i in order], want, OPTIONS, grad=False)["logp_current"]
    parts = forwards.split([len(r.tokens) for r in rows])
    assert torch.allclose(mixed, torch.cat([parts[i] for i in order]), atol=1e-6)


def test_a_shared_prompt_gives_the_gradients_of_separate_ones(policy, rows, reference):
    apart = torch.zeros(())
    for r in rows:
        apart = apart + gradients(policy, [r], None, reference)
    together = gradients(policy, rows, None, reference)
    assert (apart - together).abs().max() < 1e-6 * together.abs().max()


def test_prompts_of_distinct_groups_with_equal_text_are_computed_once(policy):
    rows = [row(0, 0, "1+1=", (2, 3)), row(1, 0, "1+1=", (2, 3))]
    first, second = forward(policy, rows, frozenset({"logp_current"}), OPTIONS,
                            grad=False)["logp_current"].split(2)
    assert torch.equal(first, second)


def test_kl_to_oneself_is_zero_and_entropy_is_bounded(policy, rows):
    found = forward(policy, rows, ALL, OPTIONS, grad=False, reference=policy)
    assert found["kl_exact"].abs().max() < 1e-6
    assert 0 <= found["entropy"].min() and found["entropy"].max() <= torch.log(torch.tensor(97.0))


def test_wrong_requests_are_refused(policy, rows):
    with pytest.raises(ValueError, match="values"):
        forward(policy, rows, frozenset({"values"}), OPTIONS, grad=False)
    with pytest.raises(ValueError, match="reference"):
        forward(policy, rows, ALL, OPTIONS, grad=False)
    with pytest.raises(ValueError, match="without prompt tokens"):
        forward(policy, [row(0, 0, (), (1,))], frozenset({"entropy"}), OPTIONS, grad=False)


def test_no_rows_give_empty_tensors(policy):
    assert forward(policy, [], frozenset({"entropy"}), OPTIONS, grad=False)["entropy"].shape == (0,)


def test_rows_of_single_tokens_only(policy):
    rows = [row(0, 0, "1=", (4,)), row(0, 1, "1=", (5,))]
    found = forward(policy, rows, frozenset({"logp_current"}), OPTIONS, grad=True)["logp_current"]
    found.sum().backward()
    assert found.shape == (2,) and found.exp().sum() < 1


def test_critic_starts_from_the_policy_and_sees_only_what_came_before(policy, rows):
    critic = Critic(policy)
    with torch.no_grad():
        critic.value.normal_(generator=torch.Generator().manual_seed(0))
    found = values(critic, rows, grad=True)
    assert found.shape == (sum(len(r.tokens) for r in rows),) and found.requires_grad
    changed = [row(r.group, r.sibling, r.prompt, (*r.tokens[:-1], 50)) for r in rows]
    assert torch.equal(values(critic, changed, grad=False), found.detach())
    assert torch.allclose(values(critic, rows, grad=False, micro_tokens=9), found.detach(), atol=1e-6)
    assert torch.equal(critic.layers[0].qkv, policy.layers[0].qkv)
    assert critic.layers[0].qkv is not policy.layers[0].qkv


@pytest.mark.parametrize("micro_tokens", [1, 8, 12, 25, 40, None])
def test_micro_batches_cover_every_row_once_and_respect_the_limit(rows, micro_tokens):
    pieces = micro_batches(rows, micro_tokens)
    assert sorted(index for piece in pieces for index in piece) == list(range(len(rows)))
    for piece in pieces:
        prompts = {rows[index].prompt for index in piece}
        cost = sum(map(len, prompts)) + sum(len(rows[index].tokens) - 1 for index in piece)
        assert micro_tokens is None or cost <= micro_tokens or len(piece) == 1


def test_micro_batches_keep_a_group_whole_where_it_fits(rows):
    for piece in micro_batches(rows, 25):
        groups = {rows[index].group for index in piece}
        assert all(index in piece for index, r in enumerate(rows) if r.group in groups)


def test_micro_batches_are_about_equal():
    rows = [row(group, 0, f"prompt {group}", (1,) * (1 + group % 5)) for group in range(40)]
    costs = [sum(len(rows[i].prompt) + len(rows[i].tokens) - 1 for i in piece)
             for piece in micro_batches(rows, 120)]
    assert max(costs) - min(costs) <= 14


@pytest.mark.parametrize("micro_tokens", [None, 16])
def test_blocked_attention_gives_what_small_attention_gives(policy, rows, reference, micro_tokens, monkeypatch):
    small = gradients(policy, rows, micro_tokens, reference)
    monkeypatch.setattr(attention, "SCORES", 0)
    blocked = gradients(policy, rows, micro_tokens, reference)
    assert (small - blocked).abs().max() < 1e-6 * small.abs().max()
