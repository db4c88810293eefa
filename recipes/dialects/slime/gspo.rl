# slime 624b824, --advantage-estimator gspo: the estimator's name chooses the ratio; the bounds stay 0.2.
import "grpo.rl"

recipe gspo extends grpo {
  "slime's GSPO as it stands when only the estimator is set."

  ratio     = sequence(current / old, log_high: none)  # compute_gspo_kl: the mean over the response, with gradient
  gate      = clip(0.2)  # --eps-clip 0.2, the paper has 3e-4 and 4e-4
  reduction = response_mean  # the mean of each response, as in the paper
}
