# verl 0.9.1, adv_estimator = rloo: only the baseline; the clipped token loss of PPO stays.
import "grpo.rl"

recipe rloo extends grpo {
  "verl's RLOO: leave-one-out advantages under the token's clipped ratio, no KL."

  advantage = rloo  # algorithm.adv_estimator = rloo
}
