# slime 624b824, --advantage-estimator cispo: PPO's bounds, a floor included, of which it warns.
import "grpo.rl"

recipe cispo extends grpo {
  "slime's CISPO as it stands when only the estimator is set."

  gate = cispo(0.2, high: 0.2)  # --eps-clip 0.2, --eps-clip-high None: weights in 0.8..1.2
}
