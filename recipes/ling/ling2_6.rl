# Ling 2.6, agentic specialist on tasks with one turn: GSPO, a bound on what is in the pool, logits in float32.
import std.gspo

recipe ling2_6 extends gspo {
  "Partial rollouts on one pool; at most S batches wait, and what is older than S versions is dropped."

  distribution = tis(2.0, grain: geometric) + admit(staleness: 2) + head(fp32)
  system       = partial(0.5) on colocated

  model { dtype: bf16 }  # the name of the published model is not in our sources
  evidence {
    unpublished: [
      "system.fraction",
      "distribution.staleness",
      "sampling.n",
      "sampling.max_tokens",
      "data.prompts",
      "optim.lr",
      "optim.updates_per_batch",
    ]
  }

  profile toy {
    model    { policy: "toy:llama-2x64", dtype: auto, warm_start: 115 }
    data     { prompts: 32 }
    optim    { adamw(lr: 2e-4), updates_per_batch: 1 }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}
