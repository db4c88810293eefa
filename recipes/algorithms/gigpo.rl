# GiGPO (arXiv:2505.10978): trajectories against their siblings, and turns against those that began in the same state.
# 16 prompts x 8 trajectories of at most 50 turns; the weight and the discount are the paper's.
# Needs an environment of several turns. In the toy a tree's parts are the turns: they share the text they begin with.
import std.grpo

recipe gigpo extends grpo {
  "Group-in-group advantages."

  feedback  = verify(task) + mask_infra_failures
  sampling  = turns(50, n: 8, max_tokens: 25k)
  advantage = gigpo(omega: 1, gamma: 0.95)
  gate      = clip(0.2) + kl(0.01)

  data  { prompts: 16 }
  optim { adamw(lr: 1e-6) }

  profile toy {
    feedback = verify(exact)
    sampling = tree(2, 3, max_tokens: 6) | steps(every: 2, unit: turn)
    data  { prompts: 32 }
    optim { adamw(lr: 2e-4), updates_per_batch: 2 }
  }
}
