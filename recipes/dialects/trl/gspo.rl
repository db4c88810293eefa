# TRL 1.16.0, GRPOTrainer with importance_sampling_level = "sequence": bounds and reduction stay those of the token.
import "grpo.rl"

recipe gspo extends grpo {
  "TRL's GSPO as it stands when only the level is set."

  ratio     = sequence(current / old, log_high: none)  # importance_sampling_level = "sequence" (default "token")
  gate      = clip(0.2)  # epsilon = 0.2; the paper has 3e-4 and 4e-4
  reduction = token_mean  # loss_type = "dapo" still: a long response weighs more
}
