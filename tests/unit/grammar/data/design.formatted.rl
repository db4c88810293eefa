import std.grpo  # the shipped library (recipes/algorithms/grpo.rl); or import "../base.rl"

let horizon = 20k

recipe dapo extends grpo {
  "Decoupled clip and dynamic sampling (Yu et al. 2025)."

  feedback     = verify(math) + overlong(max: horizon + 480, buffer: 4096)
  sampling     = group(16, max_tokens: horizon + 480) | keep(mixed, max_rounds: 10)
  advantage    = group_norm
  ratio        = token(current / old)
  gate         = clip(0.2, high: 0.28)
  reduction    = token_mean
  distribution = on_policy
  system       = sync on colocated

  model    { policy: "Qwen/Qwen2.5-32B", dtype: bf16 }
  data     { train: "dapo-math-17k.parquet", prompts: 512 }
  optim    { adamw(lr: 1e-6), updates_per_batch: 16 }
  budget   { steps: 5000 }
  cluster  { nodes: 16, gpus_per_node: 8, gpu: "H800-80GB" }
  evaluate { aime24(samples: 32), every: 20 }
  evidence { baseline: grpo, seeds: 3 }

  profile toy {  # the same mechanisms, small enough for a laptop: --profile toy
    model.policy = "toy:llama-2x64"
    data    { train: "toy:addition", prompts: 16 }
    cluster { local }
  }
}

recipe wider extends dapo { gate.high = 0.3 }  # change one parameter

sweep clip_high of dapo {
  gate.high in [0.2, 0.24, 0.28, 0.32]  # also: 1e-7..1e-5 log 5 · pow2 64..512 · zip { … } for pairs
  advantage in [group_norm, group_mean]
  seed      in 1..3
  exclude when gate.high == 0.2 and advantage == group_mean
}

ablate dapo_steps from grpo to dapo { order: [feedback, gate, reduction, sampling], seeds: 3 }

pipeline glm5 {
  stage reasoning = glm5_reasoning
  stage agentic   = glm5_agentic from reasoning
  stage general   = glm5_general from agentic
  stage distill   = opd(teachers: [reasoning, agentic]) from general
}
