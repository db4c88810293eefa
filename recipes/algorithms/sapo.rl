# SAPO (arXiv:2511.20347): a sigmoid in place of the clip, with a higher temperature for negative advantages.
import std.grpo

recipe sapo extends grpo {
  "The gradient fades smoothly as the ratio leaves 1."

  sampling = group(8, max_tokens: 8192)
  gate     = sapo(tau_pos: 1.0, tau_neg: 1.05)

  data  { prompts: 64 }
  optim { adamw(lr: 1e-6), updates_per_batch: 4 }

  profile toy { optim { adamw(lr: 5e-4), updates_per_batch: 2 } }
}
