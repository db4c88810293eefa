# GLM-5 (arXiv:2602.15763), stage 1, reasoning RL: synchronous GRPO with IcePop. Its band and KL are unpublished.
import std.icepop

recipe glm5_reasoning extends icepop {
  "Tokens on which the two engines disagree too much are left out; the band is Ring-1T's, 0.5..5.0."

  model { policy: "zai-org/GLM-5", dtype: bf16 }

  profile toy {
    model    { policy: "toy:llama-2x64", dtype: auto, warm_start: 100 }
    data     { prompts: 64 }
    optim    { adamw(lr: 2e-4), updates_per_batch: 4 }
    budget   { steps: 40 }
    evaluate { "toy:reverse", samples: 1, every: 200, problems: 200 }
  }
}
