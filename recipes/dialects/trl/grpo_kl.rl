# TRL 1.16.0, GRPOTrainer with beta set: the k3 estimate is multiplied by the ratio, gradient included.
import "grpo.rl"

recipe grpo_kl extends grpo {
  "TRL's GRPO with the penalty of the paper."

  gate = clip(0.2) + kl(0.04, weight: ratio)  # beta = 0.04 (default 0.0); use_bias_correction_kl = True
}
