# OpenRLHF 0.11.2, --algo.advantage.estimator rloo: the baseline of the bare reward, under the token's clipped ratio.
import "grpo.rl"

recipe rloo extends grpo {
  "OpenRLHF's RLOO: token actions, not whole responses, and no whitening."

  advantage = rloo | token_to_go  # --algo.advantage.estimator rloo, then get_cumulative_returns
}
