# Teach a tiny transformer to spell words backwards, by reinforcement after a short supervised start: `make quickstart`.
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

  model    { policy: "toy:llama-2x64", warm_start: 115 }
  data     { train: "toy:reverse", prompts: 32 }
  optim    { adamw(lr: 5e-4), updates_per_batch: 4 }
  budget   { steps: 200 }
  evaluate { "toy:reverse", samples: 4, every: 20, problems: 200 }
}
