# Teach a tiny transformer to sort digits: a short supervised start, then reinforcement alone: `make quickstart`.
recipe quickstart {
  "Group-relative policy gradient with a clipped ratio, small enough for two CPU cores."

  feedback     = verify(exact)
  sampling     = group(8, max_tokens: 6)
  advantage    = group_norm
  ratio        = token(current / old)
  gate         = clip(0.2, high: 0.28)
  reduction    = token_mean
  distribution = on_policy
  system       = sync on colocated

  model    { policy: "toy:llama-2x64", warm_start: 90 }
  data     { train: "toy:sort", prompts: 32 }
  optim    { adamw(lr: 5e-4), updates_per_batch: 2 }
  budget   { steps: 100 }
  evaluate { "toy:sort", samples: 4, every: 20, problems: 100 }
}
