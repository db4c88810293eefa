# DeepSeek-R1, stage 1: the base model is fine-tuned on thousands of long chains of thought, so that RL begins readable.
import std.sft

recipe r1_cold_start extends sft {
  "Supervised fine-tuning on a few demonstrations."

  sampling = offline(demonstrations, max_tokens: 32k)

  model   { policy: "deepseek-ai/DeepSeek-V3-Base", dtype: bf16 }
  data    { prompts: 128 }
  optim   { adamw(lr: 5e-5), schedule: cosine, warmup_steps: 0 }  # the paper's decays to 5e-6, ours to 0
  cluster { nodes: 64, gpus_per_node: 8, gpu: "H800-80GB" }

  profile toy {
    sampling = offline(demonstrations, max_tokens: 6)
    model    { dtype: auto }
    data     { prompts: 64 }
    optim    { adamw(lr: 2e-3), warmup_steps: 10 }
    budget   { steps: 95 }
    evaluate { "toy:reverse", samples: 1, every: 200, problems: 200 }
    cluster  { local }
  }
}
