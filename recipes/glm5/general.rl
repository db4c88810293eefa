# GLM-5, stage 3, general RL: rules, outcome reward models and generative reward models mixed. Only rules are here.
import std.icepop

recipe glm5_general extends icepop {
  "Rules about the answer and about its form; the reward models are unpublished."

  feedback = verify(math, extract: boxed) + format("<think>.*</think>.+", reward: 0.5)

  profile toy {
    feedback = verify(exact) + format("[a-h]{4}", reward: 0.5)
    model    { policy: "toy:llama-2x64", dtype: auto }
    data     { prompts: 64 }
    optim    { adamw(lr: 2e-4), updates_per_batch: 4 }
    budget   { steps: 40 }
    evaluate { "toy:reverse", samples: 1, every: 200, problems: 200 }
  }
}
