# NeMo-RL 7ea279a, loss_fn.use_cispo true: PPO's bounds, a floor included, unless they are set (its guide sets 1 and 5).
import "grpo.rl"

recipe cispo extends grpo {
  "NeMo-RL's CISPO as it stands when only the flag is set."

  # ratio_clip_min = ratio_clip_max = 0.2: weights in 0.8..1.2; reference_policy_kl_penalty 0.01
  gate = cispo(0.2, high: 0.2) + kl(0.01, weight: score, cap: 10)
}
