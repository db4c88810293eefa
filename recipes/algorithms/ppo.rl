# PPO for language models: InstructGPT (arXiv:2203.02155), per-token KL in the reward, GAE with a learned critic.
import std.grpo

recipe ppo extends grpo {
  "A critic gives every token its own advantage; four passes of clipped updates over each batch."

  feedback  = verify(math, extract: boxed) + kl_in_reward(0.02)
  sampling  = single(max_tokens: 1024)
  advantage = gae(gamma: 1, lambda: 0.95)
  gate      = clip(0.2)
  reduction = token_mean

  data   { prompts: 512 }
  optim  { adamw(lr: 1e-6), updates_per_batch: 8 }
  critic { adamw(lr: 9e-6), value_clip: 0.2 }

  profile toy {
    feedback = verify(exact) + kl_in_reward(0.02)
    sampling = single(max_tokens: 6)
    data   { prompts: 128 }
    optim  { adamw(lr: 5e-4), updates_per_batch: 4 }
    critic { adamw(lr: 2e-3), warmup_steps: 2 }
  }
}
