# Supervised fine-tuning on the policy's own successes, as an earlier stage of a pipeline collected them.
import std.sft

recipe sft_own extends sft {
  "Learns the responses that passed, not the reference answers: `sft_own(data: STAGE)` in a pipeline."

  sampling = offline(labels, max_tokens: 4096)

  profile toy { sampling = offline(labels, max_tokens: 6) }
}
