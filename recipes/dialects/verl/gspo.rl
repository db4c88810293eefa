# verl 0.9.1, adv_estimator = grpo and policy_loss.loss_mode = gspo: the bounds and the reduction of the token stay.
import "grpo.rl"

recipe gspo extends grpo {
  "verl's GSPO as it stands when only the loss mode is set."

  ratio     = sequence_token(current / old, log_high: 10)  # the log-ratio is clamped at 10, above only
  gate      = clip(0.2)  # clip_ratio_low = clip_ratio_high = 0.2, the paper has 3e-4 and 4e-4; no dual clip here
  reduction = token_mean  # actor.loss_agg_mode = token-mean, the paper has seq-mean-token-mean
}
