# TrOPD (arXiv:2606.01249), on-policy part: 4 responses a prompt, k = 64, lr 5e-6; its annealed teacher prefixes are left out.
import std.opd

recipe tropd extends opd {
  "The teacher's opinion counts where it would have written the token itself; elsewhere its own likely tokens are learned."

  sampling  = student(n: 4, max_tokens: 8096)
  advantage = teacher(trust: ratio)
  gate      = none + outliers(64)

  data  { prompts: 128 }
  optim { adamw(lr: 5e-6) }

  profile toy {
    sampling = student(n: 4, max_tokens: 6)
    gate     = none + outliers(8)
    data  { prompts: 32 }
    optim { adamw(lr: 5e-4) }
  }
}
