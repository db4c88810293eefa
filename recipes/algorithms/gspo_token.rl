# GSPO-token (arXiv:2507.18071): the response's ratio as the value, each token's own advantage in the gradient.
import std.gspo

recipe gspo_token extends gspo {
  "As GSPO while all tokens of a response share an advantage, and right also where they do not."

  ratio     = sequence_token(current / old)
  reduction = response_mean
}
