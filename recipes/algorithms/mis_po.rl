# MIS-PO as in Step 3.5 Flash: two masks, then every token that is left counts as on-policy.
import std.grpo

recipe mis_po extends grpo {
  "A critic with γ = λ = 1, weight 1 for each kept token, and nothing for the others."

  sampling     = group(8, max_tokens: 32k)
  advantage    = gae(gamma: 1, lambda: 1)
  ratio        = none
  gate         = unit
  reduction    = token_mean
  distribution = mis_po(token: 0.5..2.0, trajectory: 0.996..1.001)

  data   { prompts: 128 }
  optim  { adamw(lr: 2e-6), updates_per_batch: 4, warmup_steps: 20 }  # published with Muon
  critic { adamw(lr: 5e-6), warmup_steps: 50, updates_per_actor: 3 }

  profile toy {
    optim  { adamw(lr: 5e-4), updates_per_batch: 2, warmup_steps: 0 }
    critic { adamw(lr: 2e-3), warmup_steps: 2 }
  }
}
