# TRL 1.16.0, GRPOTrainer with use_vllm = True: the correction for another engine is on by default.
import "grpo.rl"

recipe grpo_vllm extends grpo {
  "A response whose product of token ratios is above 3 is dropped, the others are weighed by it."

  # vllm_importance_sampling_correction = True, _mode = "sequence_mask", _clip_max = 3.0, _clip_min = None
  distribution = mis(0..3.0, grain: product, weight: kept)
}
