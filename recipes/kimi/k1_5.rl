# Kimi k1.5 (arXiv:2501.12599): partial rollouts, mirror descent with the squared log-ratio of responses, a length penalty.
import std.kimi_mirror

recipe k1_5 extends kimi_mirror {
  "Long responses are written over several rounds; correct short ones earn more than correct long ones."

  feedback     = verify(math, extract: boxed) + length_penalty(0.1)
  distribution = max_lag(4)
  system       = partial(0.5) on colocated

  evidence {
    unpublished: [
      "gate.tau",
      "feedback.coef",
      "distribution.versions",
      "system.fraction",
      "sampling.n",
      "sampling.max_tokens",
      "data.prompts",
      "optim.lr",
      "optim.updates_per_batch",
    ]
  }

  profile toy {
    feedback = verify(exact) + length_penalty(0.1)
    model    { policy: "toy:llama-2x64", dtype: auto, warm_start: 115 }
    data     { prompts: 32 }
    optim    { adamw(lr: 2e-4), updates_per_batch: 1 }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}
