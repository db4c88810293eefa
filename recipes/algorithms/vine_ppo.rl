# VinePPO (arXiv:2410.01679), the settings of its code for MATH with RhoMath-1.1B: 64 prompts x 8 responses, 9
# continuations of every step, temperature 0.6, top-p 0.9, advantages whitened, k3 held in 0..10.
import std.grpo

recipe vine_ppo extends grpo {
  "PPO without a critic: the value of a step's beginning is the mean reward of continuations sampled from there."

  sampling     = vine(9, n: 8, max_tokens: 1024, temperature: 0.6, top_p: 0.9) | steps("\n")
  advantage    = vine | whiten
  gate         = clip(0.2) + kl(1e-4, cap: 10)
  reduction    = token_mean
  distribution = on_policy + replay(candidates)  # the code scores the full distribution

  data  { prompts: 64 }
  optim { adamw(lr: 1e-6), updates_per_batch: 8, epochs: 2 }

  profile toy {
    sampling     = vine(4, n: 4, max_tokens: 6) | steps(every: 2)
    distribution = on_policy
    data  { prompts: 32 }
    optim { adamw(lr: 2e-4), updates_per_batch: 2, epochs: 1 }
  }
}
