# RAGEN-2's signal-to-noise filter: train on the prompts whose rewards differ most, a fixed share of the batch.
import std.grpo

recipe ragen2_snr extends grpo {
  "A prompt whose responses all earn the same says nothing about the input."

  sampling = group(64, max_tokens: 1024) | snr(top: 0.25)  # the share is a stand-in: not read in the paper

  profile toy { sampling = group(8, max_tokens: 6) | snr(top: 0.5) }
}
