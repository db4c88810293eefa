# RLOO: Back to basics (arXiv:2402.14740): leave-one-out baseline, KL inside the reward.
import std.grpo

recipe rloo extends grpo {
  "The baseline of a response is the mean reward of its siblings; whole responses are single actions."

  feedback  = verify(math, extract: boxed) + kl_in_reward(0.05, grain: response)
  sampling  = group(4, max_tokens: 1024)
  advantage = rloo
  ratio     = none
  gate      = none
  reduction = sequence_sum

  profile toy {
    feedback = verify(exact) + kl_in_reward(0.05, grain: response)
  }
}
