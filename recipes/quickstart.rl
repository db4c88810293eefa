# Teach a tiny transformer to add, from a short supervised start, by reinforcement alone: `make quickstart`.
recipe quickstart {
  "Group-relative policy gradient with a clipped ratio, small enough for two CPU cores."

  feedback     = verify(exact)
  sampling     = group(8, max_tokens: 4)
  advantage    = group_norm
  ratio        = token(current / old)
  gate         = clip(0.2, high: 0.28)
  reduction    = token_mean
  distribution = on_policy
  system       = sync on colocated

  model    { policy: "toy:llama-2x64", warm_start: 150 }
  data     { train: "toy:addition", prompts: 32 }
  optim    { adamw(lr: 1e-3), updates_per_batch: 2 }
  budget   { steps: 200 }
  evaluate { "toy:addition", every: 20, problems: 200 }
}
