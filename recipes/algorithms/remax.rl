# ReMax (arXiv:2310.10505): one sampled and one greedy response per prompt; the difference is the advantage.
import std.grpo

recipe remax extends grpo {
  "REINFORCE with the reward of the greedy response as baseline: no critic and no group."

  sampling  = greedy_baseline(max_tokens: 1024)
  advantage = remax
  ratio     = none
  gate      = none
  reduction = sequence_sum

  data { prompts: 512 }

  profile toy {
    sampling = greedy_baseline(max_tokens: 6)
    model { warm_start: 150 }
    data  { prompts: 64 }
    optim { adamw(lr: 2e-4) }
  }
}
