# Training only the layers that carry most of the gain (arXiv:2607.01232): the middle 40 % to 60 % of the stack.
import std.grpo

recipe layer_select extends grpo {
  "GRPO on the middle of the network; everything else stays as it was."

  optim { layers: 40%..60% }

  profile toy {
    model.policy = "toy:llama-5x64"
    optim  { adamw(lr: 5e-3) }
    budget { steps: 80 }
  }
}
