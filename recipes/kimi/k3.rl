# Kimi K3 on tasks with one turn: rounds that end at a fraction λ on one pool, a band on log r, and weights of 4 bits.
import std.grpo

recipe k3 extends grpo {
  "Group mean without spread, tokens outside the band are dropped, the square of log r holds the rest near."

  sampling     = group(8, max_tokens: 32k)
  advantage    = group_mean
  ratio        = token(current / rollout)
  gate         = log_band(alpha: -0.7, beta: 0.7) + mirror(0.1)
  reduction    = token_mean
  distribution = qat(mxfp4)
  system       = partial(0.5) on colocated

  model { dtype: bf16 }
  data  { prompts: 64 }
  evidence {
    unpublished: [
      "gate.alpha",
      "gate.beta",
      "gate.tau",
      "reduction",
      "system.fraction",
      "sampling.n",
      "sampling.max_tokens",
      "data.prompts",
      "optim.lr",
    ]
  }

  profile toy {
    sampling = group(8, max_tokens: 6)
    model    { policy: "toy:llama-2x64", dtype: auto, warm_start: 115 }
    data     { prompts: 64 }
    optim    { adamw(lr: 2e-4), updates_per_batch: 1 }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}
