# NeMo-RL 7ea279a, examples/configs/ppo_math_1B.yaml: PPO with DAPO's bounds and 16 responses per prompt, no KL.
import "grpo.rl"

recipe ppo extends grpo {
  "NeMo-RL's PPO: clip-higher with a dual clip of 10, whitened advantages."

  feedback  = verify(math, extract: boxed) + overlong(max: 14336, buffer: 2048)  # reward_shaping; ±1 for 0 and 1
  sampling  = group(16, max_tokens: 14336)  # num_generations_per_prompt 16; max_response_length 14336
  advantage = gae(gamma: 1, lambda: 0.95) | whiten(std: sample)  # gae_gamma 1, gae_lambda 0.95, normalize true
  gate      = clip(0.2, high: 0.28, dual: 10)  # ratio_clip_min 0.2, ratio_clip_max 0.28, ratio_clip_c 10

  optim  { adamw(lr: 1e-6, weight_decay: 0.01), epochs: 4 }  # policy.optimizer lr 1e-6; ppo_epochs 4
  critic { adamw(lr: 1e-5, weight_decay: 0.01), value_clip: 0.2 }  # value.optimizer lr 1e-5; cliprange 0.2, scale 0.4

  profile toy {
    feedback = verify(exact)
    sampling = single(max_tokens: 6)
    data   { prompts: 128 }
    optim  { adamw(lr: 5e-4), epochs: 1 }
    critic { adamw(lr: 2e-3), warmup_steps: 2 }
  }
}
