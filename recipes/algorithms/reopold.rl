# REOPOLD (arXiv:2603.11137): opinions below log(λ/(1 − λ)), λ = 0.2, are held there; its change of stages is left out.
import std.opd

recipe reopold extends opd {
  "The teacher's opinion of the student's most uncertain tokens, held above a floor."

  sampling  = student(n: 4, max_tokens: 4096) | top_entropy_tokens(50%)  # the share is a stand-in: not read in the paper
  advantage = teacher | clip_advantage(-1.3862944, 20)

  profile toy { sampling = student(n: 4, max_tokens: 6) | top_entropy_tokens(50%) }
}
