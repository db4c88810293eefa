# verl 0.9.1, the defaults themselves: adv_estimator = gae, with advantages that are always whitened.
import "grpo.rl"

recipe ppo extends grpo {
  "verl's PPO: undiscounted returns minus the critic, whitened over the batch's tokens."

  sampling  = single(max_tokens: 512)  # rollout.n = 1, data.max_response_length = 512
  advantage = gae(gamma: 1, lambda: 1) | whiten(std: sample)  # gamma = 1.0, lam = 1.0; whitening has no switch

  critic { adamw(lr: 1e-5, weight_decay: 0.01), value_clip: 0.5 }  # critic.optim.lr = 1e-5, cliprange_value = 0.5

  profile toy {
    sampling = single(max_tokens: 6)
    data   { prompts: 128 }
    critic { adamw(lr: 2e-3), warmup_steps: 2 }
  }
}
