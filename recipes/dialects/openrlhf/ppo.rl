# OpenRLHF 0.11.2, train_ppo_ray with its own defaults: --algo.advantage.estimator gae.
recipe ppo {
  "OpenRLHF's PPO: a k1 penalty on every token, advantages whitened by the variance of all tokens."

  # --algo.kl.init_coef 0.01, --algo.kl.estimator k1, held in ±10
  feedback     = verify(math, extract: boxed) + kl_in_reward(0.01, cap: 10)
  sampling     = single(max_tokens: 1024)  # --rollout.n_samples_per_prompt 1; --data.max_len 2048 with the prompt
  advantage    = gae(gamma: 1, lambda: 1) | whiten(eps: 0, floor: 1e-8)  # gamma 1, lambd 1; variance at least 1e-8
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
    updates_per_batch: 8  # --train.batch_size 128
  }
  critic { adamw(lr: 9e-6, beta2: 0.95), value_clip: 0.5 }  # --critic.adam.lr 9e-6, --critic.value_clip 0.5

  profile toy {
    feedback = verify(exact) + kl_in_reward(0.01, cap: 10)
    sampling = single(max_tokens: 6)
    model    { policy: "toy:llama-2x64", warm_start: 115 }
    data     { train: "toy:reverse", prompts: 128 }
    optim    { adamw(lr: 5e-4), updates_per_batch: 2 }
    critic   { adamw(lr: 2e-3), warmup_steps: 2 }
    budget   { steps: 40 }
    evaluate { "toy:reverse", samples: 4, every: 20, problems: 100 }
  }
}
