# GLM-5, stage 2, agentic RL on tasks with one turn: sampling goes on while the trainer works, the weights go out every K
# updates and the optimizer begins anew with them; the ratio is against what was sampled, in a double-sided band, and
# what is too old is dropped.
import std.dis

recipe glm5_agentic extends dis {
  "Direct double-sided importance sampling with the bounds for coding agents, on a stream bounded in age."

  feedback  = verify(math, extract: boxed) + mask_infra_failures
  advantage = group_mean
  gate      = double_sided(0.8, 3.0)
  system    = stream(push_every: 1, reset_optimizer: on_push) on disaggregated(rollout: 4, train: 4)

  model   { policy: "zai-org/GLM-5", dtype: bf16 }
  cluster { nodes: 1, gpus_per_node: 8 }  # how many GPUs is unpublished
  evidence {
    unpublished: [
      "system.push_every",
      "system.rollout",
      "system.train",
      "distribution.versions",
      "sampling.n",
      "sampling.max_tokens",
      "data.prompts",
      "optim.lr",
    ]
  }

  profile toy {  # one process cannot sample while it trains: a schedule that cuts responses gives them several versions
    feedback     = verify(exact) + mask_infra_failures
    distribution = max_lag(4)
    system       = per_sample(in_flight: 640) on colocated
    model    { policy: "toy:llama-2x64", dtype: auto, warm_start: 115 }
    data     { prompts: 64 }
    optim    { adamw(lr: 2e-4), updates_per_batch: 4 }
    budget   { steps: 40 }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }

  profile engines {  # vLLM and Megatron-core in processes on a CPU: the stream as it is published
    feedback = verify(exact) + mask_infra_failures
    sampling = group(8, max_tokens: 6)
    system   = stream(
      push_every: 2,
      reset_optimizer: on_push,
    ) on disaggregated(rollout: 2, train: 1)
    model    { policy: "toy:llama-2x128", dtype: float32, warm_start: 95 }
    data     { train: "toy:reverse", prompts: 32 }
    optim    { adamw(lr: 3e-5), updates_per_batch: 2 }
    cluster  { nodes: 1, gpus_per_node: none, gpu: none }
    budget   { steps: 40 }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}
