# verl 0.9.1, adv_estimator = gae and algorithm.use_kl_in_reward = true: the penalty's own defaults.
import "ppo.rl"

recipe ppo_kl extends ppo {
  "verl's PPO with the reference in the reward of every token."

  feedback = verify(math, extract: boxed) + kl_in_reward(0.001)  # kl_ctrl.kl_coef = 0.001, kl_penalty = kl (k1)

  profile toy { feedback = verify(exact) + kl_in_reward(0.001) }
}
