"""A mixture of experts through the real engines: vLLM's experts are repeated by ranks that share them out."""

from __future__ import annotations

from rldsl.backends.local.formats.tokenizer import CharacterTokenizer
from rldsl.runtime.journal import kept_events, read_journal

from . import runs

STEPS = 3


def write_model(folder) -> None:
    """Four experts, two of them active; the characters of the toy models as tokens."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen3MoeConfig, Qwen3MoeForCausalLM

    torch.manual_seed(1)
    size = CharacterTokenizer().size
    Qwen3MoeForCausalLM(Qwen3MoeConfig(
        vocab_size=size, hidden_size=64, intermediate_size=128, moe_intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, head_dim=32, num_experts=4, num_experts_per_tok=2,
        norm_topk_prob=True, max_position_embeddings=128, initializer_range=0.2, eos_token_id=0, bos_token_id=None,
        pad_token_id=None, tie_word_embeddings=False)).save_pretrained(folder)
    vocabulary = {"<end>": 0, **{c: i for i, c in enumerate(CharacterTokenizer.ALPHABET, start=1)}}
    characters = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    characters.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    characters.decoder = decoders.Fuse()
    PreTrainedTokenizerFast(tokenizer_object=characters, eos_token="<end>").save_pretrained(folder)


def test_experts_are_replayed_through_a_whole_run(tmp_path):
    """C-058: through vLLM, the run's batches, and two ranks that share the experts out."""
    write_model(tmp_path / "experts")
    recipe = runs.recipe(tmp_path, steps=STEPS, warm=0, cluster="nodes: 1, expert: 2",
                         distribution="tis(2.0) + replay(routing)",
                         system="sync on disaggregated(rollout: 1, train: 2)")
    run = tmp_path / "run"
    begins = 'feedback=verify(regex, pattern: "^[A-Za-z]")'  # what even random weights do half of the time
    done = runs.Process(tmp_path, "run", recipe, "--set", 'model.policy="experts"', "--set", begins, "--out", str(run))
    assert done.wait() == 0, done.said()
    steps = [e.data["metrics"] for e in kept_events(read_journal(run)) if e.kind == "step"]
    assert len(steps) == STEPS
    assert max(abs(m["kappa/mean"] - 1) for m in steps) < 1e-3
    assert max(m["kappa/log_abs_p99"] for m in steps) < 1e-3
    assert all(m["grad_norm"] > 0 for m in steps)
