# Rejection sampling as in DeepSeek-R1 (arXiv:2501.12948), section 2.3.3: many responses, of which those that pass stay.
import std.grpo

recipe rejection_sampling extends grpo {
  "A stage that trains nothing: its verified responses are a data set, `responses.jsonl`, for the stage that follows."

  sampling  = group(16, max_tokens: 4096)
  advantage = monte_carlo
  ratio     = none
  gate      = none

  data  { prompts: 64, collect: 4 }
  optim { frozen }

  profile toy {
    sampling = group(8, max_tokens: 6)
    data   { prompts: 64, collect: 1 }
    optim  { frozen }
    budget { steps: 10 }
  }
}
