"""TRL's side: its trainers, built with their own defaults, on the numbers of a batch file.

`_generate_and_score_completions` and `_compute_loss` are TRL's. Replaced are only the three methods that would
sample, score and run the model, so that they return the given numbers.
"""

from __future__ import annotations

import tempfile
from functools import cache

import torch
from datasets import Dataset
from padded import answer, column, group_size, rewards, serve
from tokenizers import Tokenizer, models
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer


class Given:
    """The methods of a trainer that make numbers, returning those of `self.given`."""

    given: dict
    current: Tensor

    def _rows(self) -> list[dict]:
        return self.given["responses"]

    def _calculate_rewards(self, *_: object) -> Tensor:
        return rewards(self.given)[:, None]

    def _get_per_token_logps_and_entropies(self, model, input_ids, *_: object, **__: object) -> tuple:
        if model is self.ref_model:
            logps = column(self.given, "logp_ref")
        else:
            logps = self.current if torch.is_grad_enabled() else column(self.given, "logp_old")
        return logps, torch.zeros_like(logps), None


class Grpo(Given, GRPOTrainer):
    def _generate(self, prompts: list) -> tuple:
        tokens = [[1] * len(r["logp_current"]) for r in self._rows()]
        sampled = [r["logp_rollout"] for r in self._rows()]
        return [[1]] * len(tokens), tokens, None, [""] * len(tokens), sampled, {}, None, None


class Rloo(Given, RLOOTrainer):
    def _generate(self, prompts: list) -> tuple:
        tokens = [[1] * len(r["logp_current"]) for r in self._rows()]
        return [[1]] * len(tokens), tokens, [""] * len(tokens)


@cache
def folder() -> str:
    """A model of a few hundred parameters with its tokenizer, which no number of the comparison depends on."""
    path = tempfile.mkdtemp()
    config = LlamaConfig(vocab_size=4, hidden_size=4, intermediate_size=4, num_hidden_layers=1, num_attention_heads=1)
    LlamaForCausalLM(config).save_pretrained(path)
    words = Tokenizer(models.WordLevel({"<eos>": 0, "a": 1, "b": 2, "<unk>": 3}, unk_token="<unk>"))
    PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<eos>", pad_token="<eos>").save_pretrained(path)
    return path


def trainer(settings: dict, batch: dict) -> Grpo | Rloo:
    """A trainer with the case's settings; `trainer` and `after` are not TRL's names but say what to build and set.

    num_iterations is 2 so that the trainer records `old`: with its default of 1 every ratio is 1.
    """
    settings = dict(settings)
    kind, after = settings.pop("trainer", "grpo"), settings.pop("after", {})
    build, config = {"grpo": (Grpo, GRPOConfig), "rloo": (Rloo, RLOOConfig)}[kind]
    args = config(output_dir=tempfile.mkdtemp(), per_device_train_batch_size=len(batch["responses"]),
                  num_generations=group_size(batch), num_iterations=2, use_cpu=True, bf16=False, report_to=[],
                  **settings)
    made = build(model=folder(), reward_funcs=lambda **_: [], args=args,
                 train_dataset=Dataset.from_dict({"prompt": ["a"]}))
    made.model.train()
    made.current_gradient_accumulation_steps = 1  # the training loop sets it
    for name, value in after.items():
        setattr(made, name, value)
    return made


def one(settings: dict, batch: dict) -> dict:
    """Loss and gradients of one batch under TRL's configuration with these settings."""
    asked = trainer(settings, batch)
    asked.given, asked.current = batch, column(batch, "logp_current").requires_grad_()
    inputs = asked._generate_and_score_completions([{"prompt": "a"}] * len(batch["responses"]))
    return answer(asked._compute_loss(asked.model, inputs), asked.current, batch)


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    serve(("trl", "transformers", "torch"), one)
