# PPO with a KL penalty whose coefficient follows a target (arXiv:1707.06347, section 4): TRPO's trust region, softened.
import std.ppo

recipe trpo_kl extends ppo {
  "No clip: a penalty on the KL to the batch's start, doubled where the updates went too far, halved where too near."

  gate = none + kl(1, to: old, estimator: k3, target: 0.01)  # start and target: values of the paper's experiments on control

  profile toy {
    gate = none + kl(1, to: old, estimator: k3, target: 0.01)
  }
}
