# Step 3.5 Flash: MIS-PO with a critic, and a value where a response was cut. Published with Muon, which is not here.
import std.mis_po

recipe step3_5_flash extends mis_po {
  "Two masks and weight 1; a truncated response returns what the critic expects of it; an unbiased KL at the end."

  feedback = verify(math, extract: boxed) + bootstrap_truncated
  gate     = unit + kl(0.001, weight: score)  # of the last phase

  model    { policy: "stepfun-ai/Step-3.5-Flash", dtype: bf16 }
  optim    { adamw(lr: 2e-6, weight_decay: 0.1) }
  evidence { unpublished: ["sampling.n", "sampling.max_tokens", "data.prompts"] }

  profile toy {
    feedback = verify(exact) + bootstrap_truncated
    model    { policy: "toy:llama-2x64", dtype: auto, warm_start: 115 }
    data     { prompts: 32 }
    optim    { adamw(lr: 2e-4), updates_per_batch: 4, warmup_steps: 0 }
    evaluate { "toy:reverse", samples: 4, every: 200, problems: 100 }
  }
}
