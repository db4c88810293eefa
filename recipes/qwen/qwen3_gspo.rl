# GSPO (arXiv:2507.18071) on the mixture of experts of its figures. What it ran on is unpublished: no cluster block.
import std.gspo

recipe qwen3_gspo extends gspo {
  "One length-normalised ratio for each response, so that no routing has to be replayed; four mini-batches of a batch."

  model    { policy: "Qwen/Qwen3-30B-A3B-Base", dtype: bf16 }
  evidence { unpublished: ["sampling.n", "sampling.max_tokens", "data.prompts", "optim.lr"] }

  profile toy {
    model    { policy: "toy:llama-2x64", dtype: auto, warm_start: 115 }
    data     { prompts: 32 }
    optim    { adamw(lr: 2e-4), updates_per_batch: 4 }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}
