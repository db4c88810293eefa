"""Our decoder computes what transformers computes, for every kind it accepts."""

from __future__ import annotations

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config, Qwen3Config

from rldsl.backends.local.decoder.architecture import from_config
from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.local.formats.hf_weights import adopt, exported
from rldsl.backends.local.formats.tokenizer import CharacterTokenizer
from rldsl.backends.local.sampling.sampler import sample
from rldsl.backends.local.training.forward import forward
from rldsl.runtime.trajectory import Request, SamplingOptions

from .conftest import row

SIZES = {"vocab_size": 96, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3,
         "num_attention_heads": 6, "num_key_value_heads": 2, "max_position_embeddings": 256, "eos_token_id": 0,
         "bos_token_id": 1, "initializer_range": 0.2}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
CASES = {
    "llama tied": LlamaConfig(**SIZES, tie_word_embeddings=True),
    "llama untied, all heads": LlamaConfig(**SIZES | {"num_key_value_heads": 6}, tie_word_embeddings=False),
    "llama 3 rope": LlamaConfig(**SIZES, rope_parameters=LLAMA3),
    "llama linear rope": LlamaConfig(**SIZES, rope_parameters={"rope_type": "linear", "factor": 2.0,
                                                               "rope_theta": 500.0}),
    "qwen2": Qwen2Config(**SIZES, tie_word_embeddings=True),
    "qwen2 untied": Qwen2Config(**SIZES, tie_word_embeddings=False),
    "qwen3": Qwen3Config(**SIZES, head_dim=16, tie_word_embeddings=False),
    "qwen3 tied": Qwen3Config(**SIZES, head_dim=8, tie_word_embeddings=True),
}
PROMPTS = ("12+34=", "7=", "a longer prompt of thirty-odd characters")


def build(name, dtype=torch.float32):
    torch.manual_seed(0)
    theirs = AutoModelForCausalLM.from_config(CASES[name]).to(dtype).eval()
    with torch.no_grad():
        for key, parameter in theirs.named_parameters():
            if "bias" in key or "norm" in key:
                parameter.add_(torch.randn_like(parameter) * 0.2)
    state = theirs.state_dict()
    ours = Policy(from_config(theirs.config.to_dict(), name), dtype, CharacterTokenizer())
    adopt(ours, state.__getitem__)
    return ours, theirs


def theirs_logp(theirs, rows):
    found = []
    for r in rows:
        logits = theirs(torch.tensor([r.prompt + r.tokens])).logits[0].float().log_softmax(-1)
        found += [logits[len(r.prompt) + t - 1, token] for t, token in enumerate(r.tokens)]
    return torch.stack(found)


@pytest.mark.parametrize("name", CASES)
def test_log_probs_of_grouped_rows_equal_transformers(name):
    ours, theirs = build(name)
    generator = torch.Generator().manual_seed(1)
    rows = [row(g, s, prompt, tuple(torch.randint(0, 96, (n,), generator=generator).tolist()))
            for g, prompt in enumerate(PROMPTS) for s, n in enumerate((7, 1, 30))]
    options = SamplingOptions(1.0, 30)
    found = forward(ours, rows, frozenset({"logp_current"}), options, grad=False)["logp_current"]
    with torch.no_grad():
        assert (found - theirs_logp(theirs, rows)).abs().max() < 1e-4


@pytest.mark.parametrize("name", CASES)
def test_greedy_tokens_equal_transformers(name):
    ours, theirs = build(name)
    requests = [Request(g, g, tuple(ord(c) % 90 for c in prompt), 2) for g, prompt in enumerate(PROMPTS)]
    rows = sample(ours, requests, SamplingOptions(1.0, 20), seed=0, batch=0, version=0, greedy=True)
    for r in rows:
        expected = theirs.generate(torch.tensor([r.prompt]), do_sample=False, max_new_tokens=20, eos_token_id=0,
                                   pad_token_id=0, attention_mask=torch.ones(1, len(r.prompt)))
        assert r.tokens == tuple(expected[0, len(r.prompt):].tolist())


def test_gradients_equal_transformers():
    ours, theirs = build("qwen3")
    rows = [row(0, s, PROMPTS[0], tokens) for s, tokens in enumerate([(3, 4, 5), (9, 8), (1,)])]
    forward(ours, rows, frozenset({"logp_current"}), SamplingOptions(1.0, 8), grad=True)[
        "logp_current"].sum().backward()
    theirs_logp(theirs, rows).sum().backward()
    wanted = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    twin = Policy(ours.architecture)
    twin.load_state_dict({name: parameter.grad for name, parameter in ours.named_parameters()})
    for name, gradient in exported(twin).items():
        assert torch.allclose(gradient, wanted[name], rtol=1e-4, atol=1e-4), name


def test_bfloat16_stays_close():
    ours, theirs = build("llama tied", torch.bfloat16)
    rows = [row(0, 0, PROMPTS[0], (3, 4, 5, 6))]
    found = forward(ours, rows, frozenset({"logp_current"}), SamplingOptions(1.0, 8), grad=False)["logp_current"]
    assert found.dtype == torch.float32
    with torch.no_grad():
        assert (found - theirs_logp(theirs.float(), rows)).abs().max() < 0.3


@pytest.mark.parametrize("name", ["llama untied, all heads", "qwen2", "qwen3"])
def test_export_returns_the_checkpoint(name):
    ours, theirs = build(name)
    state = theirs.state_dict()
    tied = {"lm_head.weight"} if ours.architecture.tied else set()
    written = exported(ours)
    assert written.keys() == state.keys() - tied
    for key, tensor in written.items():
        assert torch.equal(tensor, state[key]), key
