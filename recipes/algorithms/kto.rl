# KTO (arXiv:2402.01306): responses labelled good or bad, without pairs; β 0.1, λ_D = λ_U = 1.
import std.dpo

recipe kto extends dpo {
  "Each response is judged by itself against the usual distance from the reference."

  sampling = offline(labels, max_tokens: 1024)
  gate     = kto(0.1)

  data  { prompts: 128 }
  optim { adamw(lr: 5e-7) }

  profile toy {
    sampling = offline(labels, max_tokens: 6)
    gate     = kto(0.1) + positive_nll(1)
    data  { prompts: 128 }
    optim { adamw(lr: 5e-4) }
  }
}
