# The synchronous run of a published pair on GSM8K with slime: one pool, dynamic sampling, one update of 1024 responses.
import std.grpo

recipe gsm8k_sync extends grpo {
  "Old log-probs from the trainer; the KL to the reference is only watched there, so there is none here."

  feedback = verify(numeric, extract: last_number)
  sampling = group(8, max_tokens: 1024) | keep(mixed, max_rounds: 10)
  gate     = clip(0.2)

  model    { policy: "Qwen/Qwen3.5-0.8B", dtype: bf16 }
  data     { train: "gsm8k.parquet", prompts: 128 }
  budget   { steps: 120 }
  evidence { unpublished: ["sampling.n", "sampling.max_rounds", "gate.low", "optim.lr"] }

  profile toy {
    feedback = verify(exact)
    sampling = group(8, max_tokens: 6) | keep(mixed, max_rounds: 10)
    model    { policy: "toy:llama-2x64", dtype: auto, warm_start: 115 }
    data     { train: "toy:reverse", prompts: 32 }
    optim    { adamw(lr: 4e-4) }
    budget   { steps: 40 }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}
