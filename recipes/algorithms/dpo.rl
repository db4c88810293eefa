# DPO (arXiv:2305.18290): β 0.1, 64 pairs a batch, lr 1e-6 after 150 steps of warm-up.
recipe dpo {
  "The policy learns from pairs of which one is preferred; the reference holds it back, and nothing is sampled."

  feedback     = preferences
  sampling     = offline(pairs, max_tokens: 1024)
  advantage    = none
  ratio        = none
  gate         = dpo(0.1)
  reduction    = sequence_mean
  distribution = on_policy
  system       = sync on colocated

  data  { prompts: 64 }
  optim { adamw(lr: 1e-6), warmup_steps: 150 }

  profile toy {
    feedback = verify(exact)  # read by reports and evaluation: the loss reads preferences
    sampling = offline(pairs, max_tokens: 6)
    gate     = dpo(0.1) + positive_nll(1)  # a tiny model loses both responses of a pair without it
    model    { policy: "toy:llama-2x64", warm_start: 115 }
    data     { train: "toy:reverse", prompts: 64 }
    optim    { adamw(lr: 2e-4), warmup_steps: 0 }
    budget   { steps: 60 }
    evaluate { "toy:reverse", samples: 4, every: 20, problems: 100 }
  }
}
