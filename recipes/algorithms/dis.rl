# DIS as in GLM-5: the ratio is taken against what the engine really sampled, and a double-sided band drops tokens.
import std.grpo

recipe dis extends grpo {
  "No old-policy forward at all: current / rollout, kept inside (0.7, 6.0)."

  sampling     = group(8, max_tokens: 8192)
  ratio        = token(current / rollout)
  gate         = double_sided(0.3, 5.0)
  reduction    = token_mean
  distribution = max_lag(4)
  system       = one_step_off on disaggregated(rollout: 4, train: 4)

  data     { prompts: 64 }
  optim    { adamw(lr: 1e-6) }
  cluster  { nodes: 1, gpus_per_node: 8, gpu: "H800-80GB" }
  evidence { unpublished: ["distribution.versions"] }

  profile toy {
    distribution = on_policy
    system       = sync on colocated
    optim   { adamw(lr: 5e-4) }
    cluster { local }
  }
}
