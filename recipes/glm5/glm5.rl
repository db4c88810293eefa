# GLM-5's four stages with single-turn tasks: reasoning → agentic → general → cross-stage distillation.
import "reasoning.rl"
import "agentic.rl"
import "general.rl"
import "distill.rl"

pipeline glm5 {
  stage reasoning = glm5_reasoning
  stage agentic   = glm5_agentic from reasoning
  stage general   = glm5_general from agentic
  stage distill   = glm5_distill(teachers: [reasoning, general]) {
    model { teaching: mean }
  } from general
}
