# NeMo-RL 7ea279a, examples/configs/grpo_math_1B.yaml: mean and spread leave the response itself out, KL in the loss.
recipe grpo {
  "NeMo-RL's GRPO is leave-one-out by default; its KL carries the gradient of the sampling."

  feedback = verify(math, extract: boxed)
  sampling = group(16, max_tokens: 512)  # num_generations_per_prompt 16, max_total_sequence_length 512 with prompt
  # use_leave_one_out_baseline true, normalize_rewards true; 1e-6 in the code; a spread of 0 does not divide
  advantage = group_norm(std: leave_one_out, baseline: leave_one_out, eps: 1e-6)
  ratio     = token(current / old, log_high: none)  # exp without a bound
  # ratio_clip_min = ratio_clip_max = 0.2, ratio_clip_c null; reference_policy_kl_penalty 0.01, k3, output clamp 10
  gate         = clip(0.2) + kl(0.01, weight: score, cap: 10)
  reduction    = token_mean  # token_level_loss true
  distribution = on_policy  # use_importance_sampling_correction false
  system       = sync on colocated

  data { prompts: 32 }  # num_prompts_per_step 32
  optim {
    adamw(lr: 5e-6, weight_decay: 0.01)  # policy.optimizer.kwargs: lr 5e-6, weight_decay 0.01
    clip_grad: 1.0  # policy.max_grad_norm 1.0
    updates_per_batch: 1  # train_global_batch_size 512 = 32 · 16
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
