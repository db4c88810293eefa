# verl 0.9.1, adv_estimator = grpo and actor.use_kl_loss = true: the penalty's own defaults.
import "grpo.rl"

recipe grpo_kl extends grpo {
  "verl's GRPO with a reference, each token's estimate held in ±10."

  gate = clip(0.2, dual: 3) + kl(0.001, cap: 10)  # kl_loss_coef = 0.001, kl_loss_type = low_var_kl
}
