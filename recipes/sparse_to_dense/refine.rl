# Sparse to dense, stage 3: GRPO on the student, which is now ready for a sparse reward.
import std.grpo

recipe sparse_student extends grpo {
  "The verifier's reward again, on the distilled student."

  profile toy {
    model    { policy: "toy:llama-2x64", dtype: auto }
    data     { prompts: 64 }
    optim    { adamw(lr: 2e-4), updates_per_batch: 4 }
    budget   { steps: 60 }
    evaluate { "toy:reverse", samples: 1, every: 200, problems: 200 }
  }
}
