# Supervised fine-tuning as a recipe: demonstrations with advantage 1, token mean.
recipe sft {
  "The log-likelihood of demonstrations; a stage before reinforcement learning, or between its phases."

  feedback     = preferences
  sampling     = offline(demonstrations, max_tokens: 4096)
  advantage    = monte_carlo
  ratio        = none
  gate         = none
  reduction    = token_mean
  distribution = on_policy
  system       = sync on colocated

  data  { prompts: 64 }
  optim { adamw(lr: 1e-5), schedule: cosine, warmup_steps: 10 }

  profile toy {
    feedback = verify(exact)  # 1 for the answer itself, and what evaluation scores with
    sampling = offline(demonstrations, max_tokens: 6)
    model    { policy: "toy:llama-2x64" }
    data     { train: "toy:reverse", prompts: 64 }
    optim    { adamw(lr: 2e-3) }
    budget   { steps: 200 }
    evaluate { "toy:reverse", samples: 4, every: 50, problems: 100 }
  }
}
