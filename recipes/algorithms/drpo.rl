# DRPO (Li et al., 2025): correctness decides the sign, length only how correct responses share the credit.
import std.grpo

recipe drpo extends grpo {
  "A long correct response is never pushed down for its length."

  feedback  = verify(math, extract: boxed) + overlong(max: 8192, buffer: 4096)
  sampling  = group(8, max_tokens: 8192)
  advantage = decoupled(lambda: 1)
  gate      = clip(0.2)
  reduction = token_mean

  data     { prompts: 64 }
  optim    { adamw(lr: 1e-6), updates_per_batch: 4 }
  evidence { unpublished: ["advantage.lambda"] }

  profile toy {
    feedback = verify(exact) + overlong(max: 6, buffer: 2)
    optim { adamw(lr: 5e-4), updates_per_batch: 2 }
  }
}
