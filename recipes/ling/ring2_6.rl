# Ring 2.6: C3PO++ as before, and KPop in IcePop's place. φ, Φ and σ are unpublished.
import "ring_1t.rl"

recipe ring2_6 extends ring_1t {
  "Tokens are judged by the binary divergence of the two engines, in both directions."

  distribution = kpop(0.01) + retire(1)

  model { policy: none }  # the name of the published model is not in our sources
  evidence {
    unpublished: [
      "distribution.phi",
      "distribution.cuts",
      "system.tokens",
      "sampling.n",
      "sampling.max_tokens",
      "gate.low",
      "data.prompts",
      "optim.lr",
      "optim.updates_per_batch",
    ]
  }

  profile toy { model { policy: "toy:llama-2x64" } }
}
