# EVPO (Pan et al., 2026): the critic is used only on batches whose returns it explains better than the group's mean.
import std.grpo

recipe evpo extends grpo {
  "GAE or the group's mean, decided batch by batch by explained variance."

  sampling  = group(8, max_tokens: 8192)
  advantage = switch(lambda: 0.95)
  gate      = clip(0.2)
  reduction = token_mean

  data   { prompts: 64 }
  optim  { adamw(lr: 1e-6), updates_per_batch: 4 }
  critic { adamw(lr: 1e-5) }

  profile toy {
    optim  { adamw(lr: 5e-4), updates_per_batch: 2 }
    critic { adamw(lr: 2e-3) }
  }
}
