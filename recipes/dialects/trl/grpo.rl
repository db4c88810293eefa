# TRL 1.16.0, GRPOTrainer with GRPOConfig's own defaults: whose "GRPO" reduces as DAPO does, without a KL.
recipe grpo {
  "TRL's GRPO as it stands when nothing is set."

  feedback     = verify(math, extract: boxed)
  sampling     = group(8, max_tokens: 512)  # num_generations = 8, max_completion_length = 512, temperature = 1.0
  advantage    = group_norm(std: sample, eps: 1e-4)  # scale_rewards = "group"; 1e-4 is written in the code
  ratio        = token(current / old, log_high: none)  # importance_sampling_level = "token"; exp without a bound
  gate         = clip(0.2)  # epsilon = 0.2, epsilon_high = None, delta = None, beta = 0.0
  reduction    = token_mean  # loss_type = "dapo"
  distribution = on_policy  # use_vllm = False: the trainer's own model samples
  system       = sync on colocated

  data { prompts: 16 }  # as many as per_device_train_batch_size and accumulation make
  optim {
    adamw(lr: 1e-6)  # learning_rate = 1e-6
    schedule: linear  # lr_scheduler_type = "linear", from the trainer below TRL
    clip_grad: 1.0  # max_grad_norm = 1.0
    updates_per_batch: 1  # num_iterations = 1, steps_per_generation = gradient_accumulation_steps
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
