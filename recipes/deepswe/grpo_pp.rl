# DeepSWE's GRPO++ on tasks with one turn: clip-higher, no KL, no spread, no length normalisation, leave-one-out, and
# truncated responses masked. Its tool-using environment (R2E-Gym) is not here.
import std.grpo

recipe grpo_pp extends grpo {
  "What several papers found, put together; a response that was cut teaches nothing."

  feedback  = verify(math, extract: boxed) + drop_truncated
  sampling  = group(8, max_tokens: 16k)
  advantage = rloo
  gate      = clip(0.2, high: 0.28)
  reduction = fixed_budget

  model   { policy: "Qwen/Qwen3-32B", dtype: bf16 }
  data    { prompts: 64 }
  budget  { steps: 200 }
  cluster { nodes: 8, gpus_per_node: 8, gpu: "H100-80GB", tensor: 8, rollout_tensor: 8 }
  evidence {
    unpublished: [
      "sampling.n",
      "sampling.max_tokens",
      "gate.low",
      "gate.high",
      "data.prompts",
      "optim.lr",
    ]
  }

  profile toy {
    feedback = verify(exact) + drop_truncated
    sampling = group(8, max_tokens: 6)
    model    { policy: "toy:llama-2x64", dtype: auto, warm_start: 115 }
    data     { prompts: 32 }
    optim    { adamw(lr: 2e-4), updates_per_batch: 4 }
    cluster  { local }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
    budget   { steps: 40 }
  }
}
