# RAGEN-2 (arXiv:2604.06268): only the prompts whose rewards differ most are trained on: the fewest that hold 90 % of the
# batch's reward spread, as its code recommends. Numbers are those of the code's base configuration.
# Needs an environment of several turns; the filter itself does not, and the toy has single answers.
import std.grpo

recipe ragen2_snr extends grpo {
  "Signal-to-noise filtering against template collapse."

  feedback  = verify(task) + mask_infra_failures
  sampling  = turns(5, n: 16, max_tokens: 2000) | snr(mass: 0.9, slack: 0.01, std: sample)
  gate      = clip(0.2, high: 0.28) + entropy(0.001)
  reduction = token_mean

  data  { prompts: 8 }
  optim { adamw(lr: 1e-6), updates_per_batch: 4 }

  profile toy {
    feedback = verify(exact)
    sampling = group(8, max_tokens: 6) | snr(mass: 0.9, slack: 0.01, std: sample)
    optim { adamw(lr: 5e-4), updates_per_batch: 2 }
  }
}
