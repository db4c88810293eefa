# On-policy distillation (Thinking Machines, 2025): reverse KL to the teacher on the student's own tokens.
recipe opd {
  "The student answers, the teacher's log-prob of each of its tokens is the signal; no reward is read."

  feedback     = verify(math, extract: boxed)  # read by reports and evaluation: the advantage reads the teacher
  sampling     = student(n: 4, max_tokens: 4096)
  advantage    = teacher
  ratio        = token(current / old)
  gate         = none
  reduction    = token_mean
  distribution = on_policy
  system       = sync on colocated

  data  { prompts: 64 }
  optim { adamw(lr: 1e-5) }

  profile toy {
    feedback = verify(exact)
    sampling = student(n: 4, max_tokens: 6)
    model {
      policy: "toy:llama-2x64"
      warm_start: 115
      teachers: ["toy:llama-2x64"]
      teacher_warm_start: 300
    }
    data     { train: "toy:reverse", prompts: 32 }
    optim    { adamw(lr: 5e-4) }
    budget   { steps: 60 }
    evaluate { "toy:reverse", samples: 4, every: 20, problems: 100 }
  }
}
