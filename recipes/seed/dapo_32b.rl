# DAPO (arXiv:2503.14476) on the model and the machines of its open reproduction.
import std.dapo

recipe dapo_32b extends dapo {
  "512 prompts of 16 responses, mini-batches of 512, clip 0.2 and 0.28, at most 20,480 tokens with a ramp of 4,096."

  model    { policy: "Qwen/Qwen2.5-32B", dtype: bf16 }
  data     { train: "dapo-math-17k.parquet" }
  evaluate { aime24, samples: 32 }
  cluster  { nodes: 16, gpus_per_node: 8, gpu: "H800-80GB", tensor: 8, rollout_tensor: 4 }

  profile toy {
    model    { policy: "toy:llama-2x64", dtype: auto, warm_start: 115 }
    data     { train: "toy:reverse", prompts: 32 }
    cluster  { local }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}
