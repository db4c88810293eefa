# Masked importance sampling: responses whose engines disagree on the whole are left out.
import std.grpo

recipe mis extends grpo {
  "GRPO over the responses whose κ, as a geometric mean, lies inside the band."

  sampling     = group(8, max_tokens: 8192)
  gate         = clip(0.2)
  distribution = mis(0.5..2.0, grain: geometric)

  data  { prompts: 64 }
  optim { adamw(lr: 1e-6), updates_per_batch: 4 }

  profile toy { optim { adamw(lr: 5e-4), updates_per_batch: 2 } }
}
