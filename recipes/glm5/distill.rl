# GLM-5, stage 4, on-policy cross-stage distillation: stage 1's loss with the teacher's log-ratio for an advantage, one
# response to each of 1024 prompts.
import std.opd

recipe glm5_distill extends opd {
  "The finals of earlier stages are the teachers of the last one."

  sampling     = student(n: 1, max_tokens: 8192)
  gate         = clip(0.2, high: 0.28)
  reduction    = response_mean
  distribution = icepop(0.5..2.0)

  model    { dtype: bf16 }  # the policy is stage 3's, the teachers are those of the pipeline
  data     { prompts: 1024 }
  optim    { adamw(lr: 1e-6) }
  evidence { unpublished: ["sampling.max_tokens", "optim.lr"] }

  profile toy {
    sampling = student(n: 1, max_tokens: 6)
    model    { policy: "toy:llama-2x64", dtype: auto }
    data     { prompts: 128 }
    optim    { adamw(lr: 4e-4) }
    budget   { steps: 40 }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}
