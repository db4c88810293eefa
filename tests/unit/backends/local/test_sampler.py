"""Sampling: what is recorded is what was sampled, and depends on identities, never on the batch around it."""

from __future__ import annotations

import collections
import dataclasses

import pytest
import torch

from rldsl.backends.local.draws import uniforms
from rldsl.backends.local.sampling import sampler
from rldsl.backends.local.sampling.sampler import sample
from rldsl.backends.local.training.forward import forward
from rldsl.diagnostics import RecipeError
from rldsl.runtime.trajectory import Prefix, Request, SamplingOptions

OPTIONS = SamplingOptions(temperature=1.0, max_tokens=12)


def requests(policy, siblings=4):
    prompts = ["1+2=", "34+56=", "7="]
    return [Request(group, 10 + group, policy.tokenizer.encode(text), siblings)
            for group, text in enumerate(prompts)]


def draw(policy, reqs, options=OPTIONS, **kwargs):
    return sample(policy, reqs, options, **{"seed": 1, "batch": 0, "version": 5} | kwargs)


def test_identity_and_versions_are_carried(policy):
    found = draw(policy, requests(policy))
    assert [(t.group, t.sibling, t.row) for t in found] == [(g, s, 10 + g) for g in range(3) for s in range(4)]
    assert all(t.versions == (5,) * len(t.tokens) for t in found)
    assert all(t.prompt == requests(policy)[t.group].prompt for t in found)


@pytest.mark.parametrize("change", [{}, {"temperature": 0.5}, {"temperature": 1.7}, {"top_k": 3},
                                    {"top_p": 0.6}, {"top_k": 20, "top_p": 0.8, "temperature": 0.7}])
def test_recorded_log_probs_are_those_of_the_training_forward(policy, change):
    options = dataclasses.replace(OPTIONS, **change)
    found = draw(policy, requests(policy), options)
    again = forward(policy, found, frozenset({"logp_current"}), options, grad=False)["logp_current"]
    recorded = torch.tensor([logp for t in found for logp in t.logps])
    assert (again - recorded).abs().max() < 1e-4


def test_tokens_do_not_depend_on_the_batch_around_them(policy):
    together = {(t.group, t.sibling): t.tokens for t in draw(policy, requests(policy))}
    backwards = {(t.group, t.sibling): t.tokens for t in draw(policy, requests(policy)[::-1])}
    alone = {(t.group, t.sibling): t.tokens for r in requests(policy, 2) for t in draw(policy, [r])}
    assert backwards == together
    assert alone.items() <= together.items()


def test_global_random_state_is_neither_read_nor_changed(policy):
    torch.manual_seed(0)
    first, state = draw(policy, requests(policy)), torch.get_rng_state()
    torch.manual_seed(99)
    assert draw(policy, requests(policy)) == first
    torch.manual_seed(0)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("other", [{"seed": 2}, {"batch": 1}])
def test_seed_and_batch_change_what_is_drawn(policy, other):
    assert [t.tokens for t in draw(policy, requests(policy), **other)] != [
        t.tokens for t in draw(policy, requests(policy))]


def test_sampled_end_is_the_last_token_and_not_in_the_text(policy):
    options = dataclasses.replace(OPTIONS, max_tokens=200)
    found = draw(policy, requests(policy, 16), options)
    stopped = [t for t in found if t.finish == "stop"]
    assert stopped and all(t.tokens[-1] == 0 and 0 not in t.tokens[:-1] for t in stopped)
    assert all(0 not in t.tokens and len(t.tokens) == 200 for t in found if t.finish == "length")
    assert all(t.text == policy.tokenizer.decode(t.tokens) for t in found)


def test_end_on_the_last_step_is_a_stop_not_a_truncation(policy):
    long = draw(policy, requests(policy, 16), dataclasses.replace(OPTIONS, max_tokens=200))
    ended = next(t for t in long if t.finish == "stop")
    cut = draw(policy, requests(policy, 16), dataclasses.replace(OPTIONS, max_tokens=len(ended.tokens)))
    same = next(t for t in cut if (t.group, t.sibling) == (ended.group, ended.sibling))
    assert same.tokens == ended.tokens and same.finish == "stop"


def test_stop_text_ends_a_response_and_stays_in_it(policy):
    free = draw(policy, requests(policy))[0]
    text = policy.tokenizer.decode(free.tokens[2:4])
    found = draw(policy, requests(policy), dataclasses.replace(OPTIONS, stop=(text,)))[0]
    end = free.text.index(text) + len(text)
    assert found.finish == "stop" and found.text == free.text[:end] and found.tokens == free.tokens[:end]


def test_greedy_and_temperature_zero_take_the_most_likely_token(policy):
    greedy = draw(policy, requests(policy), greedy=True)
    assert greedy == draw(policy, requests(policy), dataclasses.replace(OPTIONS, temperature=0.0))
    assert len({t.tokens for t in greedy if t.group == 0}) == 1
    assert all(logp == 0 for t in greedy for logp in t.logps)


def test_frequencies_follow_the_recorded_probabilities(policy):
    request = Request(0, 0, policy.tokenizer.encode("1+2="), 4000)
    found = draw(policy, [request], dataclasses.replace(OPTIONS, max_tokens=1))
    counts = collections.Counter(t.tokens[0] for t in found)
    for t in {t.tokens[0]: t for t in found}.values():
        p = torch.tensor(t.logps[0]).exp().item()
        assert abs(counts[t.tokens[0]] / 4000 - p) < 5 * (p * (1 - p) / 4000) ** 0.5 + 1e-9


def test_waves_by_cache_size_change_nothing(policy, monkeypatch):
    whole = [t.tokens for t in draw(policy, requests(policy))]
    monkeypatch.setattr(sampler, "CACHE_BYTES", 1)
    assert [t.tokens for t in draw(policy, requests(policy))] == whole


def test_responses_longer_than_the_first_cache_block(policy):
    found = draw(policy, requests(policy, 2), dataclasses.replace(OPTIONS, max_tokens=300))
    options = dataclasses.replace(OPTIONS, max_tokens=300)
    again = forward(policy, found, frozenset({"logp_current"}), options, grad=False)["logp_current"]
    assert max(len(t.tokens) for t in found) > 128
    assert (again - torch.tensor([logp for t in found for logp in t.logps])).abs().max() < 1e-4


def test_no_requests_make_no_rows(policy):
    assert draw(policy, []) == []


def test_beyond_the_context_is_refused_with_both_numbers(policy):
    with pytest.raises(RecipeError) as caught:
        draw(policy, requests(policy), dataclasses.replace(OPTIONS, max_tokens=510))
    assert caught.value.diagnostics[0].code == "RL330"
    assert "6 tokens" in str(caught.value) and "510" in str(caught.value) and "516" in str(caught.value)


def test_uniforms_are_uniform_and_distinct():
    rows = torch.arange(200)
    begun = torch.zeros_like(rows)
    u = uniforms(0, 0, rows, rows % 7, begun, range(100))
    assert u.dtype == torch.float64 and 0 <= u.min() and u.max() < 1
    assert abs(u.mean() - 0.5) < 0.01 and abs(u.var() - 1 / 12) < 0.005
    assert len(u.flatten().unique()) == u.numel()
    assert torch.equal(uniforms(0, 0, rows, rows % 7, begun, range(40, 60)), u[:, 40:60])
    assert torch.equal(uniforms(0, 0, rows, rows % 7, begun + 40, range(20)), u[:, 40:60])


@pytest.mark.parametrize("options", [OPTIONS, dataclasses.replace(OPTIONS, stop=("00",), max_tokens=40)])
def test_an_answer_that_is_taken_up_again_ends_as_if_it_had_never_been_cut(policy, options):
    whole = draw(policy, requests(policy), options)
    begun = [min(len(t.tokens) - 1, 1 + 2 * i) for i, t in enumerate(whole)]
    again = [Request(t.group, t.row, t.prompt, 1, t.sibling,
                     Prefix(t.tokens[:n], t.logps[:n], (4,) * n)) for t, n in zip(whole, begun, strict=True)]
    found = draw(policy, again, options)
    for t, old, n in zip(found, whole, begun, strict=True):
        assert (t.group, t.sibling, t.tokens, t.finish, t.text) == (
            old.group, old.sibling, old.tokens, old.finish, old.text)
        assert t.versions == (4,) * n + (5,) * (len(t.tokens) - n)
        assert t.logps == pytest.approx(old.logps, abs=1e-5)
