# IPO (arXiv:2310.12036): a squared loss leads each pair's margin to 1/(2τ).
import std.dpo

recipe ipo extends dpo {
  "A preference that never fails does not push the policy ever further from the reference."

  gate = ipo(0.1)

  profile toy { gate = ipo(0.5) + positive_nll(1) }
}
