# DeepSeek-R1 (arXiv:2501.12948): cold start → RL → rejection sampling and fine-tuning of the base model → RL.
import "cold_start.rl"
import "reasoning.rl"
import "harvest.rl"
import "tune.rl"
import "all_scenarios.rl"

pipeline deepseek_r1 {
  stage cold_start = r1_cold_start
  stage reasoning  = r1_reasoning from cold_start
  stage harvest    = r1_harvest from reasoning
  stage tune       = r1_tune(data: harvest)
  stage all        = r1_all_scenarios from tune
}
