# DeepSeek-R1, stage 4: RL for all scenarios at temperature 0.7, 1,700 updates; general data had reward models too.
import "reasoning.rl"

recipe r1_all_scenarios extends r1_reasoning {
  "Stage 2 at a lower temperature; its reward models for helpfulness and harmlessness are unpublished and left out."

  sampling = group(16, max_tokens: 32768, temperature: 0.7)
  budget { steps: 106 }  # 1,700 updates, 16 of each batch

  profile toy {
    sampling = group(8, max_tokens: 6, temperature: 0.7)
    optim  { adamw(lr: 1e-4) }
    budget { steps: 40 }
  }
}
