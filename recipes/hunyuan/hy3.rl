# Hy3's open recipe: synchronous GRPO on one pool of 128 H20, of which 16 hold one engine that samples.
import std.icepop

recipe hy3 extends icepop {
  "Clip-higher with a dual clip of 10, DAPO's length ramp, no KL; tokens outside 0.5..4.0 are set to zero."

  feedback     = verify(math, extract: boxed) + overlong(max: 8192, buffer: 4096)
  gate         = clip(0.2, high: 0.28, dual: 10)
  distribution = icepop(0.5..4.0)

  model   { policy: "tencent/Hy3-preview", dtype: bf16 }
  cluster { nodes: 16, gpus_per_node: 8, gpu: "H20-96GB", rollout_tensor: 16 }
  evidence {
    unpublished: [
      "feedback.max",
      "feedback.buffer",
      "sampling.n",
      "sampling.max_tokens",
      "data.prompts",
      "optim.lr",
      "optim.updates_per_batch",
    ]
  }

  profile toy {
    feedback = verify(exact) + overlong(max: 8, buffer: 2)
    sampling = group(8, max_tokens: 8)
    model    { policy: "toy:llama-2x64", dtype: auto, warm_start: 115 }
    data     { prompts: 32 }
    optim    { adamw(lr: 2e-4), updates_per_batch: 4 }
    cluster  { local }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}
