# Step-GRPO as the handbook tells it: every step has a reward by rules, 0.1 for a right formula and 1 for the answer, and
# steps are compared with steps. The comparison is DeepSeekMath's (arXiv:2402.03300, section 4.1.3); sizes are unpublished.
# Rewards of single steps are recorded by an environment of several turns. The toy cuts the text of one answer into steps,
# and the last one earns the outcome.
import std.grpo

recipe step_grpo extends grpo {
  "Process rewards compared over all steps of a group."

  feedback  = verify(task) + process(0.1) + mask_infra_failures
  sampling  = turns(8, n: 16, max_tokens: 4096)
  advantage = step_reward
  gate      = clip(0.2)

  data { prompts: 64 }

  profile toy {
    feedback = verify(exact)
    sampling = group(8, max_tokens: 6) | steps(every: 2)
    optim { adamw(lr: 5e-4), updates_per_batch: 2 }
  }
}
