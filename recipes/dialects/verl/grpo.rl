# verl 0.9.1, algorithm.adv_estimator = grpo, everything else as in ppo_trainer.yaml.
recipe grpo {
  "verl's GRPO: a dual clip that is on, no KL, and the mean over all tokens."

  feedback     = verify(math, extract: boxed)
  sampling     = group(8, max_tokens: 512)  # data.max_response_length = 512; rollout.n = 1, which has no siblings
  advantage    = group_norm(std: sample, eps: 1e-6)  # norm_adv_by_std_in_grpo = true, epsilon = 1e-6
  ratio        = token(current / old, log_high: 20)  # clamped to ±20 in the code
  gate         = clip(0.2, dual: 3)  # clip_ratio_low = clip_ratio_high = 0.2, clip_ratio_c = 3.0
  reduction    = token_mean  # actor.loss_agg_mode = token-mean
  distribution = on_policy  # algorithm.rollout_correction.rollout_is = null
  system       = sync on colocated

  data { prompts: 1024 }  # data.train_batch_size = 1024
  optim {
    adamw(lr: 1e-6, weight_decay: 0.01)  # actor.optim.lr = 1e-6, weight_decay = 0.01
    schedule: constant  # actor.optim.lr_scheduler_type = constant
    clip_grad: 1.0  # actor.optim.clip_grad = 1.0
    updates_per_batch: 4  # actor.ppo_mini_batch_size = 256 prompts
    epochs: 1  # actor.ppo_epochs = 1
  }

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
