# CISPO as run for MiniMax-M1 (arXiv:2506.13585): no floor; the ceiling is unpublished, the default stands in.
import std.grpo

recipe cispo extends grpo {
  "The importance weight is clipped, the gradient of a token never is."

  sampling  = group(16, max_tokens: 40k)
  gate      = cispo(1.0, high: 0.28)
  reduction = token_mean

  data     { prompts: 64 }
  optim    { adamw(lr: 1e-6), updates_per_batch: 16 }
  evidence { unpublished: ["gate.high"] }

  profile toy { optim { adamw(lr: 5e-4), updates_per_batch: 4 } }
}
