# VPO (arXiv:2605.22817): a response is a set of answers, rewarded for its best one under many weightings of the reward.
import std.grpo

recipe vpo extends grpo {
  "The answers of one response are to cover the trade-offs between the reward's components."

  feedback  = [verify(math, extract: boxed), similarity]  # the paper's components are its tasks' own
  sampling  = answers(4, n: 8, max_tokens: 8192, delimiter: "</answer>")  # numbers are stand-ins: not read in the paper
  advantage = vector(weights: dirichlet)

  profile toy {
    feedback = [verify(exact), similarity]
    sampling = answers(2, n: 8, max_tokens: 12, delimiter: ",")
  }
}
