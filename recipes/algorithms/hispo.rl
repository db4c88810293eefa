# HisPO as in LongCat-Flash-Prover: engine mismatch decides who takes part, the full ratio how far a token moves.
import std.grpo

recipe hispo extends grpo {
  "Two masks around κ = 1, three bounds on current / rollout, and the group's longest response as the length."

  sampling     = group(8, max_tokens: 32k)
  ratio        = token(current / rollout)
  gate         = clip3(neg_low: 0.2, neg_high: 3.0, pos_high: 0.28)
  reduction    = longest
  distribution = hispo(sequence: 0.01, token: 0.5)

  data  { prompts: 64 }
  optim { adamw(lr: 1e-6), updates_per_batch: 4 }
  evidence {
    unpublished: [
      "gate.neg_low",
      "gate.neg_high",
      "gate.pos_high",
      "distribution.sequence",
      "distribution.token",
    ]
  }

  profile toy { optim { adamw(lr: 5e-4), updates_per_batch: 2 } }
}
