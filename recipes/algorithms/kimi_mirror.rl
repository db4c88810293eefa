# Kimi k1.5 (arXiv:2501.12599): policy mirror descent with the squared log-ratio of whole responses.
import std.grpo

recipe kimi_mirror extends grpo {
  "No ratio and no clip: the centred reward times ℓ, less the square of how far the response has moved."

  sampling  = group(8, max_tokens: 8192)
  advantage = group_mean
  ratio     = none
  gate      = none + mirror(0.1, grain: response)
  reduction = sequence_sum

  data     { prompts: 64 }
  optim    { adamw(lr: 1e-6), updates_per_batch: 4 }
  evidence { unpublished: ["gate.tau"] }

  profile toy { optim { adamw(lr: 5e-4), updates_per_batch: 2 } }
}
