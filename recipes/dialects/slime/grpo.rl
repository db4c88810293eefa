# slime 624b824, --advantage-estimator grpo and the arguments' own defaults.
recipe grpo {
  "slime's GRPO: the mean of each response's tokens, no KL, no bound on the log-ratio."

  feedback     = verify(math, extract: boxed)
  sampling     = group(8, max_tokens: 1024)  # --n-samples-per-prompt is 1, which has no siblings; no default length
  advantage    = group_norm(std: sample, eps: 1e-6)  # --disable-grpo-std-normalization is off; 1e-6 in the code
  ratio        = token(current / old, log_high: none)  # exp without a bound
  gate         = clip(0.2)  # --eps-clip 0.2, --eps-clip-high None, --eps-clip-c None, --use-kl-loss off
  reduction    = response_mean  # --calculate-per-token-loss off
  distribution = on_policy  # --use-tis off
  system       = sync on colocated

  data  { prompts: 32 }  # --rollout-batch-size is required
  optim { adamw(lr: 1e-6), clip_grad: 1.0, updates_per_batch: 1 }  # --lr 1e-6; --num-steps-per-rollout has no default

  profile toy {
    feedback = verify(exact)
    sampling = group(8, max_tokens: 6)
    model    { policy: "toy:llama-2x64", warm_start: 115 }
    data     { train: "toy:reverse", prompts: 16 }
    optim    { adamw(lr: 5e-4), updates_per_batch: 2 }
    budget   { steps: 40 }
    evaluate { "toy:reverse", samples: 4, every: 20, problems: 100 }
  }
}
