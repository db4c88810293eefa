# slime 624b824, --use-kl-loss --kl-loss-coef 0.001: the estimator's default in the loss is k1.
import "grpo.rl"

recipe grpo_kl extends grpo {
  "slime's GRPO with a penalty whose expected gradient on fresh data is zero."

  gate = clip(0.2) + kl(0.001, estimator: k1)  # --kl-loss-coef 0.001 (default 0.0), --kl-loss-type k1
}
