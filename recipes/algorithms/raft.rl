# RAFT (arXiv:2304.06767): the log-likelihood of the policy's own correct responses, batch after batch.
import std.grpo

recipe raft extends grpo {
  "Samples many and learns from those that pass: rejection sampling with an update after every batch."

  sampling  = group(16, max_tokens: 4096)
  advantage = monte_carlo
  ratio     = none
  gate      = none
  reduction = token_mean

  data  { prompts: 64 }
  optim { adamw(lr: 1e-5) }

  profile toy {
    sampling = group(8, max_tokens: 6)
    data { prompts: 16 }
  }
}
