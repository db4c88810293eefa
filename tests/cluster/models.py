"""Tiny Hugging Face models with weights that say something: probabilities are far from uniform."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

VOCABULARY, CONTEXT, EOS = 128, 256, 0
COMMON = {"vocab_size": VOCABULARY, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "max_position_embeddings": CONTEXT,
          "initializer_range": 0.2, "eos_token_id": EOS, "bos_token_id": None, "pad_token_id": None}
KINDS = {
    "llama": ("LlamaConfig", {"tie_word_embeddings": False}),
    "tied": ("Qwen3Config", {"tie_word_embeddings": True}),
    "bias": ("Qwen2Config", {"tie_word_embeddings": False, "num_attention_heads": 2, "num_key_value_heads": 1}),
    "moe": ("Qwen3MoeConfig", {"tie_word_embeddings": False, "num_experts": 4, "num_experts_per_tok": 2,
                               "moe_intermediate_size": 64, "norm_topk_prob": True, "decoder_sparse_step": 1,
                               "mlp_only_layers": []}),
}


class Letters:
    """A tokenizer of one letter a token; id 0 ends a response."""

    eos, size = frozenset({EOS}), VOCABULARY

    def decode(self, ids):
        return "".join(chr(32 + i % 95) for i in ids)


def build(kind: str, seed: int) -> Any:
    """A random model of this kind, float32."""
    import transformers

    name, own = KINDS[kind]
    torch.manual_seed(seed)
    config = getattr(transformers, name)(**{**COMMON, **own}, dtype="float32")
    return transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()


def save(model: Any, folder: Path) -> Path:
    """Writes its folder, with generation defaults that must not be followed."""
    model.save_pretrained(folder)
    (folder / "generation_config.json").write_text(
        '{"temperature": 0.3, "top_k": 5, "top_p": 0.5, "repetition_penalty": 1.5, "eos_token_id": [7, 8, 9]}')
    return folder


def logps(model: Any, rows: list[Any], temperature: float = 1.0) -> torch.Tensor:
    """Log-probs of every response token of the rows, one after another."""
    found = []
    with torch.no_grad():
        for row in rows:
            ids = torch.tensor([*row.prompt, *row.tokens])
            logits = model(ids.unsqueeze(0)).logits[0, len(row.prompt) - 1:-1].float() / temperature
            found.append(logits.log_softmax(-1).gather(1, ids[len(row.prompt):, None]).squeeze(1))
    return torch.cat(found)


def weights(model: Any) -> dict[str, torch.Tensor]:
    """What a trainer publishes: a tied head is left out."""
    found = dict(model.state_dict())
    if model.config.tie_word_embeddings:
        del found["lm_head.weight"]
    return found
