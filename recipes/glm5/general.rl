# GLM-5, stage 3, general RL: rules, outcome reward models and generative reward models mixed. The published models are
# not; the recipe says where theirs would stand. Objective and settings are those of stage 1, which stand in.
import "reasoning.rl"

recipe glm5_general extends glm5_reasoning {
  "Rules about the answer and its form, a scalar reward model, and a judge that reads a rubric."

  feedback = (
    verify(math, extract: boxed)
    + format("<think>.*</think>.+", reward: 0.5)
    + reward_model
    + judge(rubric: ["Is this reply to {prompt} helpful? {response}"])
  )

  model { reward: "unpublished/outcome-reward-model", judge: "unpublished/generative-reward-model" }
  evidence {
    unpublished: ["feedback.reward", "feedback.rubric", "sampling.max_tokens", "optim.lr"]
  }

  profile toy {
    feedback = (
      verify(exact)
      + format("[a-h]{4}", reward: 0.5)
      + 0.1 * reward_model
      + 0.1 * judge(rubric: ["{prompt}{response} right?"])
    )
    optim { adamw(lr: 2e-4) }
    model { reward: "toy:llama-1x64", judge: "toy:llama-1x64", judge_warm_start: 100 }
  }
}
