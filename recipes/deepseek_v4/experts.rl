# DeepSeek-V4's experts and their heirs: fine-tuning, GRPO and distillation of two domains out of more than ten.
import std.sft
import "v4.rl"
import "opd.rl"

recipe v4_sft extends sft {
  "The beginning of an expert: demonstrations of its domain."

  model { policy: "deepseek-ai/DeepSeek-V4-Pro", dtype: bf16 }

  profile toy {
    model    { dtype: auto }
    budget   { steps: 115 }
    data     { prompts: 64 }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}

pipeline deepseek_v4 {
  stage math_sft = v4_sft
  stage math     = v4_expert from math_sft
  stage code_sft = v4_sft
  stage code     = v4_expert from code_sft
  stage merged   = v4_opd(teachers: [math, code]) { model { teaching: mean } } from math_sft
}
