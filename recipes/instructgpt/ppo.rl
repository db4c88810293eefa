# InstructGPT (arXiv:2203.02155): PPO against a reward model, a KL to the supervised model in every token's reward.
import std.ppo

recipe instructgpt_ppo extends ppo {
  "A learned preference is the reward; the KL keeps the policy where the reward model has seen answers."

  feedback = reward_model + kl_in_reward(0.02)

  model { reward: "unpublished/reward-model-6b" }

  profile toy {
    feedback = reward_model + kl_in_reward(0.02)
    model    { warm_start: 115, reward: "toy:llama-1x64", judge_warm_start: 100 }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}
