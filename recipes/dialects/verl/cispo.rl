# verl 0.9.1, adv_estimator = grpo and policy_loss.loss_mode = cispo: PPO's bounds, a floor included.
import "grpo.rl"

recipe cispo extends grpo {
  "verl's CISPO as it stands when only the loss mode is set."

  gate = cispo(0.2, high: 0.2)  # clip_ratio_low = clip_ratio_high = 0.2: weights in 0.8..1.2
}
