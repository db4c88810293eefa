# DSPO (arXiv:2510.09255): GSPO's sequence-level ratio with a filter on outcomes; without its search tools here.
import std.gspo

recipe dspo extends gspo {
  "One ratio per response, and only groups in which some responses are right and some are not."

  sampling = group(8, max_tokens: 8192) | keep(mixed, max_rounds: 10)  # size of the group: not read in the paper

  profile toy {
    sampling = group(8, max_tokens: 6) | keep(mixed, max_rounds: 10, exhausted: short_batch)
  }
}
