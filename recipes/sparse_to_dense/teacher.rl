# Sparse to dense, stage 1: GRPO on the larger model, where exploration finds something.
import std.grpo

recipe sparse_teacher extends grpo {
  "Scarce labelled problems are spent on the strongest model; its settings are those of the library's GRPO."

  model { policy: "Qwen/Qwen3-8B", dtype: bf16 }

  profile toy {
    model    { policy: "toy:llama-3x96", dtype: auto, warm_start: 65 }
    data     { prompts: 64 }
    optim    { adamw(lr: 2e-4), updates_per_batch: 4 }
    budget   { steps: 60 }
    evaluate { "toy:reverse", samples: 1, every: 200, problems: 200 }
  }
}
