# GSPO (arXiv:2507.18071): one length-normalised ratio per response, clipped in its own narrow band.
import std.grpo

recipe gspo extends grpo {
  "The unit of the reward is the unit of the ratio: the response."

  sampling  = group(8, max_tokens: 8192)
  ratio     = sequence(current / old)
  gate      = clip(3e-4, high: 4e-4)
  reduction = sequence_mean

  data  { prompts: 64 }
  optim { adamw(lr: 1e-6), updates_per_batch: 4 }

  profile toy { optim { adamw(lr: 5e-4) } }
}
