# VAPO (arXiv:2504.05118): a critic again, with λ by length for the policy, 1 for the critic, and correct responses imitated.
import std.grpo

recipe vapo extends grpo {
  "Length-adaptive GAE, clip-higher, token-level loss and a likelihood term on correct responses."

  sampling  = group(16, max_tokens: 20k)
  advantage = gae(gamma: 1, lambda_actor: length_adaptive(0.05), lambda_critic: 1)
  gate      = clip(0.2, high: 0.28) + positive_nll(0.1)
  reduction = token_mean

  data   { prompts: 512 }
  optim  { adamw(lr: 1e-6), updates_per_batch: 16 }
  critic { adamw(lr: 2e-6), warmup_steps: 50 }

  profile toy {
    optim  { adamw(lr: 5e-4), updates_per_batch: 2 }
    critic { adamw(lr: 2e-3), warmup_steps: 2 }
  }
}
