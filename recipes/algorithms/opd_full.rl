# On-policy distillation over the full vocabulary from several teachers, as DeepSeek-V4 replaces mixed RL by it.
import std.opd

recipe opd_full extends opd {
  "At every position of its own answers the student's whole distribution moves to the mean of its teachers'."

  advantage = none
  ratio     = none
  gate      = distill(reverse_kl)

  profile toy {
    model  { teachers: ["toy:llama-2x64", "toy:llama-1x64"], teaching: mean }
    optim  { adamw(lr: 1e-3) }
    budget { steps: 30 }
  }
}
