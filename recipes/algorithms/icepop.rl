# IcePop as in Ring-1T (arXiv:2510.18855): tokens on which the two engines disagree too much are left out. KL 0.
import std.grpo

recipe icepop extends grpo {
  "GRPO with κ inside 0.5..5.0 as a weight and nothing outside it."

  sampling     = group(8, max_tokens: 8192)
  gate         = clip(0.2)
  distribution = icepop(0.5..5.0)

  data  { prompts: 64 }
  optim { adamw(lr: 1e-6), updates_per_batch: 4 }

  profile toy { optim { adamw(lr: 5e-4) } }
}
