# ORPO (arXiv:2403.07691): likelihood of the preferred response and an odds ratio, λ 0.1, in one stage from a base model.
import std.dpo

recipe orpo extends dpo {
  "Imitates the preferred response while raising its odds over the other: no reference model."

  gate = orpo(lambda: 0.1)

  optim { adamw(lr: 8e-6) }

  profile toy {
    gate = orpo(lambda: 0.1)
    optim { adamw(lr: 5e-4) }
  }
}
