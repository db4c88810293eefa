# MiMo-V2.6 on tasks with one turn: GRPO without spread against what was sampled, four bounds by the advantage's sign, and
# both engines made to see one model: routes and candidates repeated, weights of 4 bits.
import std.mimo_signed

recipe v2_6 extends mimo_signed {
  "Partial rollouts up to four versions old; every source has its own limit of responses in flight."

  sampling     = group(8, max_tokens: 32k, top_p: 0.97) | per_source(256)
  distribution = replay(routing) + replay(candidates) + qat(mxfp4) + max_lag(4)
  system       = partial(0.5) on colocated

  model   { dtype: bf16 }
  cluster { local }  # what it ran on is unpublished
  evidence {
    unpublished: [
      "sampling.n",
      "sampling.max_tokens",
      "sampling.limit",
      "system.fraction",
      "data.prompts",
      "optim.lr",
    ]
  }

  profile toy {  # a toy task has one source and its model no experts
    sampling     = group(8, max_tokens: 6, top_p: 0.97)
    distribution = replay(candidates) + qat(mxfp4) + max_lag(4)
    system       = partial(0.5) on colocated
    model    { policy: "toy:llama-2x64", dtype: auto, warm_start: 115 }
    data     { prompts: 64 }
    optim    { adamw(lr: 2e-4), updates_per_batch: 1 }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}
