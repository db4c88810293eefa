# NeMo-RL 7ea279a, loss_fn.sequence_level_importance_ratios true, which requires token_level_loss false.
import "grpo.rl"

recipe gspo extends grpo {
  "NeMo-RL's GSPO: the paper's ratio and reduction, the token's bounds."

  ratio = sequence(current / old, log_high: none)  # sequence_level_importance_ratios true
  # ratio_clip_min = ratio_clip_max = 0.2, the paper has 3e-4 and 4e-4; reference_policy_kl_penalty 0.01
  gate      = clip(0.2) + kl(0.01, weight: score, cap: 10)
  reduction = response_mean  # token_level_loss false
}
