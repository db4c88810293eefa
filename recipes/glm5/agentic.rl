# GLM-5, stage 2, agentic RL: asynchronous, the ratio against what was sampled, a double-sided band, a limit on age.
import std.dis

recipe glm5_agentic extends dis {
  "Direct double-sided importance sampling with the bounds for coding agents; the limit on age is unpublished."

  gate = double_sided(0.8, 3.0)

  profile toy {
    model    { policy: "toy:llama-2x64", dtype: auto }
    data     { prompts: 64 }
    optim    { adamw(lr: 2e-4), updates_per_batch: 4 }
    budget   { steps: 40 }
    evaluate { "toy:reverse", samples: 1, every: 200, problems: 200 }
  }
}
