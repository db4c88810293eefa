# LongCat's DORA: sampling never stops, devices of changing role train when a batch is there, and each response is
# finished by the weights that began it.
import std.gspo

recipe dora extends gspo {
  "A stream over several versions served at once, with GSPO's ratio over whole responses."

  distribution = tis(2.0, grain: geometric) + max_lag(4)
  system       = stream(push_every: 1) on elastic(dedicated: 4, flexible: 4, versions: 2)

  model   { policy: "meituan-longcat/LongCat-Flash-Thinking", dtype: bf16 }
  cluster { nodes: 1, gpus_per_node: 8 }  # how many GPUs is unpublished
  evidence {
    unpublished: [
      "system.push_every",
      "system.dedicated",
      "system.flexible",
      "system.versions",
      "distribution.cap",
      "distribution.versions",
      "sampling.n",
      "sampling.max_tokens",
      "data.prompts",
      "optim.lr",
      "optim.updates_per_batch",
    ]
  }

  profile toy {  # vLLM and Megatron-core in processes on a CPU
    distribution = tis(2.0, grain: geometric) + max_lag(4) + admit(staleness: 3)
    system       = stream(push_every: 2) on elastic(dedicated: 1, flexible: 1, versions: 2)
    model    { policy: "toy:llama-2x128", dtype: float32, warm_start: 95 }
    data     { prompts: 32 }
    optim    { adamw(lr: 1e-4), updates_per_batch: 2 }
    budget   { steps: 80 }
    cluster  { nodes: 1, gpus_per_node: none }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}
