# TRL 1.16.0, GRPOTrainer with loss_type = "cispo": epsilon_high is the ceiling itself, and falls back to epsilon.
import "grpo.rl"

recipe cispo extends grpo {
  "Every ratio near 1 is cut to 0.2, so the gradient is a fifth of what CISPO's would be."

  gate = cispo(1.0, ceiling: 0.2)  # epsilon_high = None → epsilon = 0.2; no floor; MiniMax's scale would be 5.0
}
