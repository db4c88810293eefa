# DeepSeek-R1, stage 2: GRPO with rule-based rewards. Published: lr 3e-6, KL 0.001, clip 10, 16 answers of 32,768 tokens.
import std.grpo

recipe r1_reasoning extends grpo {
  "8,192 answers a batch, cut into 16 updates of 32 questions each."

  feedback  = verify(math, extract: boxed) + format("<think>.*</think>.+")
  sampling  = group(16, max_tokens: 32768, temperature: 1.0)
  gate      = clip(1, high: 10) + kl(0.001)  # with ε = 10 the floor 1 - ε is below 0: there is none
  reduction = response_mean

  data    { prompts: 512 }
  optim   { adamw(lr: 3e-6), updates_per_batch: 16 }
  cluster { nodes: 64, gpus_per_node: 8, gpu: "H800-80GB" }

  profile toy {
    feedback = verify(exact)
    sampling = group(8, max_tokens: 6)
    data     { prompts: 64 }
    optim    { adamw(lr: 2e-4), updates_per_batch: 4 }
    budget   { steps: 60 }
    evaluate { "toy:reverse", samples: 1, every: 200, problems: 200 }
    cluster  { local }
  }
}
