# OpenRLHF 0.11.2, --algo.advantage.estimator group_norm: rewards are compared first, the KL of each token comes after.
recipe grpo {
  "OpenRLHF's GRPO: group statistics of the bare reward, then a k1 penalty per token, summed from each token on."

  # --algo.kl.init_coef 0.01, --algo.kl.estimator k1, held in ±10
  feedback     = verify(math, extract: boxed) + kl_in_reward(0.01, cap: 10)
  sampling     = group(8, max_tokens: 1024)  # --rollout.n_samples_per_prompt 1 is refused there too
  advantage    = group_norm(std: sample, eps: 1e-9) | token_to_go  # 1e-9 in the code; then get_cumulative_returns
  ratio        = token(current / old, log_high: 20)  # clamped to ±20 in the code
  gate         = clip(0.2)  # --actor.eps_clip 0.2, --actor.dual_clip None
  reduction    = token_mean  # --actor.loss_agg_mode token-mean
  distribution = on_policy  # --algo.advantage.is_correction_level off
  system       = sync on colocated

  data { prompts: 1024 }  # --rollout.batch_size 1024
  optim {
    adamw(lr: 1e-6, beta2: 0.95)  # --actor.adam.lr 1e-6, --actor.adam.betas 0.9 0.95
    schedule: cosine  # --actor.lr_scheduler cosine_with_min_lr, which ends at a tenth
    clip_grad: 1.0  # --actor.max_norm 1.0
    updates_per_batch: 64  # --train.batch_size 128 responses of 8192
  }

  profile toy {
    feedback = verify(exact) + kl_in_reward(0.01, cap: 10)
    sampling = group(8, max_tokens: 6)
    model    { policy: "toy:llama-2x64", warm_start: 115 }
    data     { train: "toy:reverse", prompts: 16 }
    optim    { adamw(lr: 5e-4), updates_per_batch: 2 }
    budget   { steps: 40 }
    evaluate { "toy:reverse", samples: 4, every: 20, problems: 100 }
  }
}
