# DeepSeek-R1, stage 3a: the policy of stage 2 answers many questions; about 600k answers that are right are kept.
import std.rejection_sampling

recipe r1_harvest extends rejection_sampling {
  "Nothing is trained; the verified answers are the next stage's data set."

  sampling = group(16, max_tokens: 32768, temperature: 1.0)  # how many answers a question got is unpublished

  cluster { nodes: 64, gpus_per_node: 8, gpu: "H800-80GB" }

  profile toy {
    sampling = group(8, max_tokens: 6)
    data     { prompts: 128, collect: 1 }
    budget   { steps: 20 }
    evaluate { none }
    cluster  { local }
  }
}
