# The asynchronous run of the pair: 4 GPUs sample while 4 train, twice the length, truncated importance sampling.
import "gsm8k_sync.rl"

recipe gsm8k_async extends gsm8k_sync {
  "Fully asynchronous: data is 3 to 3.5 versions old on average, 7 at most; no bound on it is published."

  sampling     = group(8, max_tokens: 2048)
  distribution = tis(2.0)
  system       = stream(push_every: 1) on disaggregated(rollout: 4, train: 4)

  cluster { nodes: 1, gpus_per_node: 8 }
  evidence {
    unpublished: ["sampling.n", "gate.low", "optim.lr", "distribution.cap", "system.push_every"]
  }

  profile toy {  # samples in vLLM and trains in Megatron-core, in processes on a CPU
    sampling     = group(8, max_tokens: 6)
    distribution = tis(2.0) + admit(staleness: 3)
    system       = stream(push_every: 1) on disaggregated(rollout: 2, train: 1)
    model   { policy: "toy:llama-2x128", dtype: float32, warm_start: 95 }
    optim   { adamw(lr: 1e-4) }
    budget  { steps: 80 }
    cluster { nodes: 1, gpus_per_node: none }
  }
}
