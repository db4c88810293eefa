# TOPR (arXiv:2503.14286): good trajectories in full, bad ones only while they are still likely.
import std.grpo

recipe topr extends grpo {
  "Tapered off-policy REINFORCE: the weight of a bad trajectory is its true importance ratio, at most 1."

  sampling  = group(8, max_tokens: 8192)
  advantage = group_mean
  ratio     = trajectory(current / old)
  gate      = taper
  reduction = sequence_sum

  data  { prompts: 64 }
  optim { adamw(lr: 1e-6), updates_per_batch: 4 }

  profile toy { optim { adamw(lr: 5e-4), updates_per_batch: 2 } }
}
