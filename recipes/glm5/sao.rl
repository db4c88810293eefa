# SAO (arXiv:2607.07508), which trains GLM-5.2's agents, on tasks with one turn: one response to each prompt goes to the
# trainer as soon as it is whole; a critic that was fitted beforehand stands where the group's mean stood.
import std.sao
import std.value_pretrain

recipe glm5_sao extends sao {
  "Single rollouts from a stream, length-adaptive GAE, two critic updates for one of the policy, a band for mathematics."

  system = stream(push_every: 1) on disaggregated(rollout: 4, train: 4)

  model   { policy: "Qwen/Qwen3-30B-A3B", dtype: bf16 }
  cluster { nodes: 1, gpus_per_node: 8 }  # how many GPUs is unpublished
  evidence {
    unpublished: [
      "system.push_every",
      "system.rollout",
      "system.train",
      "distribution.versions",
      "sampling.max_tokens",
      "data.prompts",
      "optim.lr",
      "critic.lr",
    ]
  }

  profile toy {  # one process cannot sample while it trains: a schedule that cuts responses gives them several versions
    distribution = max_lag(4)
    system       = per_sample(in_flight: 160) on colocated
    model    { dtype: auto, warm_start: 115 }
    data     { prompts: 128 }
    optim    { adamw(lr: 4e-4), updates_per_batch: 2 }
    critic   { adamw(lr: 2e-3), warmup_steps: 0 }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }

  profile engines {  # vLLM and Megatron-core in processes on a CPU: the stream as it is published
    feedback = verify(exact)
    sampling = single(max_tokens: 6)
    system   = stream(push_every: 1) on disaggregated(rollout: 2, train: 1)
    model    { policy: "toy:llama-2x128", dtype: float32, warm_start: 95 }
    data     { train: "toy:reverse", prompts: 128 }
    optim    { adamw(lr: 1e-4) }
    critic   { adamw(lr: 5e-4), warmup_steps: 5 }
    cluster  { nodes: 1, gpus_per_node: none, gpu: none }
    budget   { steps: 40 }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}

recipe sao_values extends value_pretrain {
  "The critic before reinforcement learning: Monte-Carlo returns of a policy that stays as it is."

  model { policy: "Qwen/Qwen3-30B-A3B", dtype: bf16 }

  profile toy { model { policy: "toy:llama-2x64", dtype: auto, warm_start: 115 } }
}

pipeline sao_pipeline {
  stage values = sao_values
  stage policy = glm5_sao(critic: values) from values
}
