# StarPO, as the handbook tells it: turn k of a trajectory is compared with turn k of its siblings. RAGEN's own StarPO
# (arXiv:2504.20073) compares whole trajectories: advantage = group_norm, or gae with a critic. Numbers are those of the
# RAGEN code: 8 prompts x 16 trajectories of at most 5 turns of 400 tokens.
# Needs an environment of several turns; the toy cuts the text of one answer into turns instead.
import std.grpo

recipe starpo extends grpo {
  "Advantages and ratios per turn."

  feedback  = verify(task) + mask_infra_failures
  sampling  = turns(5, n: 16, max_tokens: 2000)
  advantage = turn_group
  ratio     = turn(current / old)
  gate      = clip(0.2, high: 0.28) + entropy(0.001)
  reduction = token_mean

  data  { prompts: 8 }
  optim { adamw(lr: 1e-6), updates_per_batch: 4 }

  profile toy {
    feedback = verify(exact)
    sampling = group(8, max_tokens: 6) | steps(every: 2, unit: turn)
    optim { adamw(lr: 5e-4), updates_per_batch: 2 }
  }
}
