# Understanding R1-Zero-like training (arXiv:2503.20783): GRPO without its two biases.
import std.grpo

recipe dr_grpo extends grpo {
  "No division by the group's spread, and a constant length in the denominator."

  sampling  = group(8, max_tokens: 3000)
  advantage = group_mean
  gate      = clip(0.2)
  reduction = fixed_budget

  data { prompts: 16 }
}
