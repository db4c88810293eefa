# SimPO (arXiv:2405.14734): β 2.0, γ/β 0.5, 128 pairs a batch, lr 1e-6.
import std.dpo

recipe simpo extends dpo {
  "Mean log-likelihoods with a margin: no reference model, and length does not count."

  gate = simpo(2.0, 1.0)

  data { prompts: 128 }

  profile toy {
    gate = simpo(2.0, 1.0) + positive_nll(1)
    data { prompts: 64 }
  }
}
