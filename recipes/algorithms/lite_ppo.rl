# Lite PPO (arXiv:2508.08221): the group's mean, the batch's standard deviation, and a token-level loss.
import std.grpo

recipe lite_ppo extends grpo {
  "Two changes to critic-free PPO: one spread for the whole batch, one say for every token."

  sampling  = group(8, max_tokens: 8192)
  advantage = group_norm(std_over: batch)
  gate      = clip(0.2)
  reduction = token_mean

  data  { prompts: 128 }
  optim { adamw(lr: 1e-6), updates_per_batch: 4 }

  profile toy { optim { adamw(lr: 5e-4), updates_per_batch: 2 } }
}
