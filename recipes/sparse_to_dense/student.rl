# Sparse to dense, stage 2: on-policy distillation of the trained teacher into the model that will be deployed.
import std.opd

recipe dense_student extends opd {
  "Dense signals compress what sparse ones found: the teacher scores every token that the student writes."

  profile toy {
    model    { policy: "toy:llama-2x64", dtype: auto, warm_start: 100 }
    data     { prompts: 64 }
    optim    { adamw(lr: 5e-4) }
    budget   { steps: 100 }
    evaluate { "toy:reverse", samples: 1, every: 200, problems: 200 }
  }
}
