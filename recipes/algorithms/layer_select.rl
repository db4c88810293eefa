# Training only the layers that carry most of the gain (arXiv:2607.01232): the middle 40 % to 60 % of the stack.
import std.grpo

recipe layer_select extends grpo {
  "GRPO on the middle of the network; everything else stays as it was."

  optim { layers: 40%..60% }

  profile toy {
    gate         = clip(0.2)
    model.policy = "toy:llama-3x64"
    data   { prompts: 32 }
    optim  { adamw(lr: 1e-3), updates_per_batch: 4 }
    budget { steps: 100 }
  }
}
