# Group Relative Policy Optimization: DeepSeekMath (arXiv:2402.03300), algorithm 1, section 4.2.
recipe grpo {
  "Rewards are compared with those of siblings; no critic; a k3 penalty to the reference in the loss."

  feedback     = verify(math, extract: boxed)
  sampling     = group(64, max_tokens: 1024)
  advantage    = group_norm
  ratio        = token(current / old)
  gate         = clip(0.2) + kl(0.04)
  reduction    = response_mean
  distribution = on_policy
  system       = sync on colocated

  data  { prompts: 16 }  # 1024 responses a batch, one update each
  optim { adamw(lr: 1e-6) }

  profile toy {
    feedback = verify(exact)
    sampling = group(8, max_tokens: 6)
    model    { policy: "toy:llama-2x64", warm_start: 115 }
    data     { train: "toy:reverse", prompts: 16 }
    optim    { adamw(lr: 5e-4) }
    budget   { steps: 40 }
    evaluate { "toy:reverse", samples: 4, every: 20, problems: 100 }
  }
}
