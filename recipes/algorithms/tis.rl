# Truncated importance sampling (Yao et al., 2025): two engines, one policy, a capped correction between them.
import std.grpo

recipe tis extends grpo {
  "GRPO whose update is weighted by min(κ, 2), the training engine's probability over the rollout engine's."

  gate         = clip(0.2)
  distribution = tis(2.0)

  optim { adamw(lr: 1e-6), updates_per_batch: 4 }

  profile toy { optim { adamw(lr: 5e-4) } }
}
