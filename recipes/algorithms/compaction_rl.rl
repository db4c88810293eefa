# CompactionRL (Tsinghua; used in GLM-5.2): the policy summarises its own context when it runs out; summaries are trained,
# all segments share the outcome, and GAE is corrected for what lies between a segment and the end. No KL.
# Needs an environment of several turns and a context that is compacted: no engine here has them, so `rldsl run` refuses
# it by name, also with the toy; `rldsl probe` evaluates it on recorded trajectories.
import std.grpo

recipe compaction_rl extends grpo {
  "PPO over compacted trajectories: token-mean, cross-segment GAE."

  feedback  = verify(task) + mask_infra_failures
  sampling  = turns(200, max_tokens: 64k) | compaction(reserve: 10240, keep: 2)  # limits are unpublished
  advantage = gae(cross_segment: true)
  gate      = clip(0.2)
  reduction = token_mean

  data   { prompts: 64 }
  optim  { adamw(lr: 1e-6) }
  critic { adamw(lr: 5e-6) }

  profile toy {
    sampling = turns(4, max_tokens: 64) | compaction(reserve: 16, keep: 1)
    feedback = verify(exact) + mask_infra_failures
    critic { adamw(lr: 2e-3), warmup_steps: 2 }
  }
}
