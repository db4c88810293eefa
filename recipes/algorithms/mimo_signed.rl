# The policy objective of MiMo-V2.6: four bounds on the ratio to what was sampled, chosen by the advantage's sign.
import std.grpo

recipe mimo_signed extends grpo {
  "Group mean without spread, signed bands from 0.2 to 5, and prompts that weigh the same."

  sampling     = group(8, max_tokens: 32k)
  advantage    = group_mean
  ratio        = token(current / rollout)
  gate         = signed(0.2..5.0, 0.2..5.0)  # how the bounds follow the entropy is unpublished
  reduction    = prompt_mean
  distribution = max_lag(4)
  system       = one_step_off on disaggregated(rollout: 4, train: 4)

  data    { prompts: 128 }
  optim   { adamw(lr: 1e-6) }
  cluster { nodes: 1, gpus_per_node: 8, gpu: "H800-80GB" }

  profile toy {
    distribution = on_policy
    system       = sync on colocated
    optim   { adamw(lr: 5e-4), updates_per_batch: 2 }
    cluster { local }
  }
}
