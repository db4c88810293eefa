# DAPO (arXiv:2503.14476): Qwen2.5-32B, 512 prompts x 16, mini-batches of 512 responses.
import std.grpo

let horizon = 20k

recipe dapo extends grpo {
  "Decoupled clip, dynamic sampling, token-level loss and soft overlong punishment; no KL."

  feedback  = verify(math, extract: boxed) + overlong(max: horizon + 480, buffer: 4096)
  sampling  = group(16, max_tokens: horizon + 480) | keep(mixed, max_rounds: 10)
  gate      = clip(0.2, high: 0.28)
  reduction = token_mean

  data  { prompts: 512 }
  optim { adamw(lr: 1e-6), updates_per_batch: 16, warmup_steps: 20 }

  profile toy {
    feedback = verify(exact) + overlong(max: 6, buffer: 1)
    sampling = group(8, max_tokens: 6) | keep(mixed, max_rounds: 10, exhausted: short_batch)
    optim { adamw(lr: 5e-4), updates_per_batch: 2, warmup_steps: 0 }
  }
}
