# MiniMax-M2's policy objective (report behind M2 and M2.1) on tasks with one turn; process and speed rewards are left out.
import std.cispo_m2

recipe m2 extends cispo_m2 {
  "Weights in [0, 1 + high], a token answers for what follows it, masked importance sampling and float32 logits."

  sampling     = group(16, max_tokens: 40k) | keep(mixed, max_rounds: 10)
  distribution = mis(0.5..2.0) + head(fp32)

  model { policy: "MiniMaxAI/MiniMax-M2", dtype: bf16 }
  evidence {
    unpublished: [
      "gate.high",
      "distribution.band",
      "sampling.n",
      "sampling.max_tokens",
      "sampling.max_rounds",
      "data.prompts",
      "optim.lr",
      "optim.updates_per_batch",
    ]
  }

  profile toy {
    sampling = group(8, max_tokens: 6) | keep(mixed, max_rounds: 10, exhausted: short_batch)
    model    { dtype: auto, warm_start: 115 }
    data     { prompts: 32 }
    optim    { adamw(lr: 2e-4), updates_per_batch: 4 }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}
