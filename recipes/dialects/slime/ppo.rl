# slime 624b824, --advantage-estimator ppo: advantages are not whitened unless --normalize-advantages is given.
import "grpo.rl"

recipe ppo extends grpo {
  "slime's PPO: undiscounted returns minus the critic, as they are."

  sampling  = single(max_tokens: 1024)  # --n-samples-per-prompt 1
  advantage = gae(gamma: 1, lambda: 1)  # --gamma 1.0, --lambd 1.0, --normalize-advantages off

  critic { adamw(lr: 1e-6), value_clip: 0.2 }  # --value-clip 0.2; its value loss is twice ours, without the half

  profile toy {
    sampling = single(max_tokens: 6)
    data   { prompts: 128 }
    critic { adamw(lr: 2e-3), warmup_steps: 2 }
  }
}
