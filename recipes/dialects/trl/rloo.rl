# TRL 1.16.0, RLOOTrainer with RLOOConfig's own defaults: a clipped ratio of whole responses, KL in the reward.
import "grpo.rl"

recipe rloo extends grpo {
  "TRL's RLOO as it stands when nothing is set."

  feedback  = verify(math, extract: boxed) + kl_in_reward(0.05, grain: response)  # beta = 0.05, k1, summed
  sampling  = group(2, max_tokens: 512)  # num_generations = 2, max_completion_length = 512
  advantage = rloo  # normalize_advantages = False
  ratio     = trajectory(current / old, log_high: none)  # exp of the summed log-ratio, not its mean
  gate      = clip(0.2)  # epsilon = 0.2, the bound of a token on the product of all of them
  reduction = sequence_mean  # mean over responses

  profile toy {
    feedback = verify(exact) + kl_in_reward(0.05, grain: response)
    sampling = group(2, max_tokens: 6)
    data { prompts: 64 }
  }
}
