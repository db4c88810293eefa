# DeepSeek-V4: an expert for each domain, by fine-tuning and then GRPO with the settings of R1 (recipes/deepseek_r1);
# the experts are merged by distillation (opd.rl). What it ran on is unpublished: no cluster block.
import std.deepseek_r1.reasoning

recipe v4_expert extends r1_reasoning {
  "GRPO for one domain at high effort, on engines whose log-probs are equal in every bit and whose weights have 4."

  feedback     = verify(math, extract: boxed)
  sampling     = group(16, max_tokens: 128k)
  distribution = on_policy + bitwise + qat(mxfp4)

  model    { policy: "deepseek-ai/DeepSeek-V4-Pro", dtype: bf16 }
  cluster  { local }
  evidence { unpublished: ["sampling.n", "gate.high", "gate.coef", "data.prompts", "optim.lr"] }

  profile toy {  # equal bits take several times as long: weights of 4 bits are left
    feedback     = verify(exact)
    distribution = on_policy + qat(mxfp4)
    sampling     = group(8, max_tokens: 6)
    model    { policy: "toy:llama-2x64", dtype: auto, warm_start: 115 }
    data     { prompts: 64 }
    optim    { adamw(lr: 2e-4), updates_per_batch: 4 }
    budget   { steps: 40 }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}
