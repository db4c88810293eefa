# DeepSeek-V4, where others mix domains in one run: the student's whole distribution moves to its teachers', at every
# position of its own answers. More than ten teachers in V4, more than forty in V4.1.
import std.opd_full

recipe v4_opd extends opd_full {
  "Full-vocabulary on-policy distillation; every teacher scores every answer with the same weight."

  model    { dtype: bf16 }  # the policy and the teachers are those of the pipeline
  data     { prompts: 64 }
  evidence { unpublished: ["sampling.n", "sampling.max_tokens", "data.prompts", "optim.lr"] }

  profile toy {
    model    { policy: "toy:llama-2x64", dtype: auto, warm_start: 115, teaching: mean }
    data     { prompts: 64 }
    optim    { adamw(lr: 4e-4) }
    budget   { steps: 40 }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}
