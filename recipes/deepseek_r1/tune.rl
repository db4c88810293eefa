# DeepSeek-R1, stage 3b: the base model again, fine-tuned on the kept answers. Published: lr 5e-5 → 5e-6, batch 128.
import std.sft_own

recipe r1_tune extends sft_own {
  "Starts from the base model, not from stage 2: what RL found is carried over as data."

  sampling = offline(labels, max_tokens: 32k)

  model   { policy: "deepseek-ai/DeepSeek-V3-Base", dtype: bf16 }
  data    { prompts: 128 }
  optim   { adamw(lr: 5e-5), schedule: cosine, warmup_steps: 0 }  # the paper's decays to 5e-6, ours to 0
  cluster { nodes: 64, gpus_per_node: 8, gpu: "H800-80GB" }

  profile toy {
    sampling = offline(labels, max_tokens: 6)
    model    { dtype: auto }
    data     { prompts: 64 }
    optim    { adamw(lr: 2e-3), warmup_steps: 10 }
    budget   { steps: 150 }
    evaluate { "toy:reverse", samples: 1, every: 200, problems: 200 }
    cluster  { local }
  }
}
