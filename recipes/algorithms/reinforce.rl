# REINFORCE (Williams, 1992) with the batch's mean reward as baseline.
import std.grpo

recipe reinforce extends grpo {
  "One response per prompt, no ratio and no gate: the plain policy gradient."

  sampling  = single(max_tokens: 1024)
  advantage = batch_mean
  ratio     = none
  gate      = none
  reduction = sequence_sum

  data { prompts: 1024 }

  profile toy {
    sampling = single(max_tokens: 6)
    data { prompts: 128 }
  }
}
