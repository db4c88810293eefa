# StepPO (arXiv:2604.18401): one step of GAE, one ratio and one clip per interaction step; settings of the paper's code
# for ALFWorld. Its step-aligned clip by a step's place is unpublished. The code whitens over steps, `whiten` over tokens.
# Needs an environment of several turns, whose turns are the steps; the toy cuts the text of one answer into steps.
import std.grpo

recipe steppo extends grpo {
  "Step-level GAE and length-normalised step ratios."

  feedback  = verify(task) + mask_infra_failures
  sampling  = turns(50, n: 1, max_tokens: 25k)  # the number of turns is unpublished
  advantage = step_gae(gamma: 1, lambda: 1) | whiten
  ratio     = step(current / old)
  gate      = clip(3e-4, high: 4e-4) + kl(0.001)
  reduction = turn_mean

  data   { prompts: 128 }
  optim  { adamw(lr: 1e-6) }
  critic { adamw(lr: 1e-5) }

  profile toy {
    feedback  = verify(exact)
    sampling  = group(8, max_tokens: 6) | steps(every: 2)
    reduction = response_mean
    optim  { adamw(lr: 5e-4), updates_per_batch: 2 }
    critic { adamw(lr: 2e-3), warmup_steps: 2 }
  }
}
