# REINFORCE++ (arXiv:2501.03262): one response per prompt, KL per token in the reward, advantages over the whole batch.
import std.grpo

recipe reinforce_pp extends grpo {
  "The return of every token, normalised over the batch; no critic and no group."

  feedback  = verify(math, extract: boxed) + kl_in_reward(0.01)
  sampling  = single(max_tokens: 1024)
  advantage = reward_to_go(baseline: none) | whiten
  gate      = clip(0.2)
  reduction = token_mean

  data  { prompts: 1024 }
  optim { adamw(lr: 1e-6), updates_per_batch: 4 }

  profile toy {
    feedback = verify(exact) + kl_in_reward(0.01)
    sampling = single(max_tokens: 6)
    data  { prompts: 128 }
    optim { adamw(lr: 5e-4), updates_per_batch: 2 }
  }
}
