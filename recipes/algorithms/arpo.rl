# ARPO (arXiv:2507.19849): half of a group starts at once, the rest branches off after tool calls that left the policy
# uncertain; what branches share is trained with the mean of their advantages. Settings are those of the paper's code for
# reasoning with a 7B model. There a step ends with a tool call; here the text is cut into lines. The weight of an entropy
# is the code's for another measure (`rldsl explain sampling.branch`). The handbook tells another ARPO, which stops early
# at low entropy and has no formula.
import std.grpo

recipe arpo extends grpo {
  "Branches where entropy rises, hard advantage attribution."

  sampling  = branch(16, start: 8, weight: 0.2, max_tokens: 4096) | steps("\n")
  advantage = group_norm | shared_mean
  gate      = clip(0.2)

  data  { prompts: 128 }
  optim { adamw(lr: 1e-6), updates_per_batch: 8 }

  profile toy {
    sampling = branch(8, start: 4, weight: 0.5, window: 2, max_tokens: 6) | steps(every: 2)
    optim { adamw(lr: 5e-4), updates_per_batch: 2 }
  }
}
