# GLM-5, stage 4, on-policy cross-stage distillation: what earlier stages knew and later ones lost.
import std.opd

recipe glm5_distill extends opd {
  "The finals of earlier stages are the teachers of the last one."

  profile toy {
    model    { policy: "toy:llama-2x64", dtype: auto }
    data     { prompts: 64 }
    optim    { adamw(lr: 2e-4) }
    budget   { steps: 40 }
    evaluate { "toy:reverse", samples: 1, every: 200, problems: 200 }
  }
}
