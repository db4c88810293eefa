# Ring-1T (arXiv:2510.18855): IcePop, and C3PO++, whose rounds end at a number of tokens. Φ and σ are unpublished.
import std.icepop

recipe ring_1t extends icepop {
  "A round of Φ tokens on one pool; what is not finished goes on in the next one, and is given up after σ cuts."

  distribution = icepop(0.5..5.0) + retire(1)
  system       = token_budget(1M) on colocated

  model { policy: "inclusionAI/Ring-1T", dtype: bf16 }
  evidence {
    unpublished: [
      "system.tokens",
      "distribution.cuts",
      "sampling.n",
      "sampling.max_tokens",
      "gate.low",
      "data.prompts",
      "optim.lr",
      "optim.updates_per_batch",
    ]
  }

  profile toy {
    system = token_budget(1200) on colocated
    model    { policy: "toy:llama-2x64", dtype: auto, warm_start: 115 }
    data     { prompts: 32 }
    optim    { adamw(lr: 2e-4), updates_per_batch: 1 }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}
