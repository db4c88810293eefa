# OpenRLHF 0.11.2, --actor.policy_loss_type gspo with group_norm and --algo.kl.init_coef 0.
# With the default of 0.01 a response's tokens have advantages of their own, which its one ratio would average (RL314).
import "grpo.rl"

recipe gspo extends grpo {
  "OpenRLHF's GSPO, whose reduction is the response's mean whatever --actor.loss_agg_mode says."

  feedback  = verify(math, extract: boxed)  # --algo.kl.init_coef 0 (default 0.01)
  advantage = group_norm(std: sample, eps: 1e-9)  # --algo.advantage.estimator group_norm
  ratio     = sequence(current / old, log_high: none)  # exp of the mean, without a bound
  gate      = clip(0.2)  # --actor.eps_clip 0.2, the paper has 3e-4 and 4e-4
  reduction = response_mean  # forced

  profile toy { feedback = verify(exact) }
}
