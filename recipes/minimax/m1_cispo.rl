# MiniMax-M1 (arXiv:2506.13585), the run that extends the 40k model's thinking budget to 80k, on problems with one turn.
import std.cispo

let horizon = 80k

recipe m1_cispo extends cispo {
  "CISPO without a floor or a KL, DAPO's dynamic sampling and length penalty, and logits in float32 on both engines."

  feedback     = verify(math, extract: boxed) + overlong(max: horizon, buffer: 4096)  # the buffer is DAPO's
  sampling     = group(16, max_tokens: horizon) | keep(mixed, max_rounds: 10)
  distribution = on_policy + head(fp32)

  model   { policy: "MiniMaxAI/MiniMax-M1-40k", dtype: bf16 }
  optim   { adamw(lr: 1e-6, beta2: 0.95, eps: 1e-15) }
  cluster { nodes: 64, gpus_per_node: 8, gpu: "H800-80GB" }  # 512 GPUs are published, their layout is not
  evidence {
    unpublished: [
      "gate.high",
      "feedback.buffer",
      "sampling.n",
      "sampling.max_rounds",
      "data.prompts",
      "optim.lr",
    ]
  }

  profile toy {
    feedback = verify(exact) + overlong(max: 6, buffer: 1)
    sampling = group(8, max_tokens: 6) | keep(mixed, max_rounds: 10, exhausted: short_batch)
    model    { dtype: auto, warm_start: 115 }
    data     { prompts: 32 }
    optim    { adamw(lr: 2e-4, beta2: 0.95, eps: 1e-15), updates_per_batch: 4 }
    cluster  { local }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}
