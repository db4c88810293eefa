# SAO as in GLM-5.2: one response per prompt, a critic that is trained twice as often, and DIS instead of a clip.
import std.grpo

recipe sao extends grpo {
  "Length-adaptive λ of 1.5 for the policy, 1 for the critic; the ratio is taken against what was sampled."

  sampling     = single(max_tokens: 32k)
  advantage    = gae(gamma: 1, lambda_actor: length_adaptive(1.5), lambda_critic: 1)
  ratio        = token(current / rollout)
  gate         = double_sided(0.3, 5.0)
  reduction    = token_mean
  distribution = max_lag(4)
  system       = one_step_off on disaggregated(rollout: 4, train: 4)

  data     { prompts: 1024 }
  optim    { adamw(lr: 1e-6) }
  critic   { adamw(lr: 5e-6), updates_per_actor: 2 }
  cluster  { nodes: 1, gpus_per_node: 8, gpu: "H800-80GB" }
  evidence { unpublished: ["distribution.versions"] }

  profile toy {
    distribution = on_policy
    system       = sync on colocated
    sampling     = single(max_tokens: 6)
    data    { prompts: 128 }
    optim   { adamw(lr: 5e-4), updates_per_batch: 2 }
    critic  { adamw(lr: 2e-3), warmup_steps: 2 }
    cluster { local }
  }
}
