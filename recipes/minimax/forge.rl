# MiniMax Forge (arXiv:2605.26494): the scheduler behind M2.5. A batch is taken from a window over the oldest prompts in
# flight, in any order inside it and never from beyond. Tasks with one turn; contexts as actions need an environment.
import "m2.rl"

recipe forge extends m2 {
  "M2's objective on data that a window of 0.3 queues bounds in age; a filter takes responses of odd statistics out."

  sampling     = group(16, max_tokens: 40k)
  distribution = mis(0.5..2.0) + mis(0.5..2.0, grain: geometric) + head(fp32)
  system       = windowed(0.3) on disaggregated(rollout: 4, train: 4)

  model   { policy: "MiniMaxAI/MiniMax-M2.5" }
  cluster { nodes: 1, gpus_per_node: 8 }  # how many GPUs is unpublished
  evidence {
    unpublished: [
      "gate.high",
      "distribution.mis[1].band",
      "distribution.mis[2].band",
      "sampling.n",
      "sampling.max_tokens",
      "data.prompts",
      "optim.lr",
      "optim.updates_per_batch",
      "system.rollout",
      "system.train",
    ]
  }

  profile toy {  # samples in vLLM and trains in Megatron-core, in processes on a CPU
    sampling     = group(8, max_tokens: 6)
    distribution = mis(0.5..2.0) + mis(0.5..2.0, grain: geometric)  # float32 throughout, where head(fp32) has nothing to do
    system       = windowed(0.3) on disaggregated(rollout: 1, train: 1)
    model   { policy: "toy:llama-2x128", dtype: float32, warm_start: 95 }
    optim   { adamw(lr: 1e-4), updates_per_batch: 2 }
    cluster { nodes: 1, gpus_per_node: none }
  }
}
