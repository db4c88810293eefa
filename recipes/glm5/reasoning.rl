# GLM-5 (arXiv:2602.15763), stage 1, reasoning RL: synchronous GRPO with IcePop and clip-higher, entirely on-policy.
# What it ran on is unpublished: no cluster block.
import std.icepop

recipe glm5_reasoning extends icepop {
  "Tokens on which the two engines disagree by more than a factor of 2 are left out; no KL."

  sampling     = group(32, max_tokens: 8192)
  gate         = clip(0.2, high: 0.28)
  distribution = icepop(0.5..2.0)

  model    { policy: "zai-org/GLM-5", dtype: bf16 }
  data     { prompts: 32 }
  optim    { adamw(lr: 1e-6), updates_per_batch: 1 }
  evidence { unpublished: ["sampling.max_tokens", "optim.lr"] }

  profile toy {
    sampling = group(8, max_tokens: 6)
    model    { policy: "toy:llama-2x64", dtype: auto, warm_start: 115 }
    data     { prompts: 64 }
    optim    { adamw(lr: 5e-4) }
    budget   { steps: 40 }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}
