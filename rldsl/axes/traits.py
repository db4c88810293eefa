"""What choices need from one another and give to one another. Checks read these, never names.

What a choice needs of the *batch* (old log-probs, a reference, values) is not listed here: it is read off the
variables in its formula.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Trait:
    """A property that one choice gives and another needs; `text` completes “… needs …” and “… gives …”."""

    name: str
    text: str


SIBLINGS = Trait("siblings", "at least two responses to the same prompt")
RATIO = Trait("ratio", "an importance ratio to bound")
CORRECTNESS = Trait("correctness", "a correctness term that can be told apart from shaping")
VALUES = Trait("values", "a value estimate per token from a critic")
TOKEN_ADVANTAGE = Trait("token_advantage", "an advantage that may differ inside a response")
TOKEN_REWARDS = Trait("token_rewards", "an advantage that reads a reward at every token")
LENGTH_LIMIT = Trait("length_limit", "a known limit on the response's length")
ROLLOUT_LOGPS = Trait("rollout_logps", "the log-prob and the weight version of every sampled token")
RESPONSE_TERM = Trait("response_term", "a term with one value per response")

GROUP_OUTCOMES = Trait("group_outcomes", "a filter on the outcomes of live groups")
MULTIPLIES_KAPPA = Trait("multiplies_kappa", "a weight that contains κ = π_old/μ as a factor")
FRESH_DATA = Trait("fresh_data", "data made by the weights that the update starts from")
SEPARATE_DEVICES = Trait("separate_devices", "devices of their own for sampling and for training")
ASSERTS_FRESH = Trait("asserts_fresh", "the assertion that data was made by the current weights")
BOUNDS_LAG = Trait("bounds_lag", "a bound on how old the data may be")
PROXIMAL = Trait("proximal", "a term that holds the policy near the one that made the data")
REFERENCE_KL = Trait("reference_kl", "a KL to the reference policy")
TRUNCATION_RULE = Trait("truncation_rule", "a treatment of responses that hit a limit")
TOKEN_WEIGHTED = Trait("token_weighted", "a reduction in which every token weighs the same")
SEQUENCE_SCALE = Trait("sequence_scale", "a length-normalised ratio with one value per response")
PART_SCALE = Trait("part_scale", "a length-normalised ratio with one value per turn or step")
OWN_GRAIN = Trait("own_grain", "a correction whose grain is a parameter")
SCORE_ONLY = Trait("score_only", "a penalty whose gradient is a constant times that of the log-prob")

ROUTING_REPLAY = Trait("routing_replay", "the experts that each token was sampled with, again in training")
CANDIDATES_REPLAY = Trait("candidates_replay", "the tokens that sampling chose from, again in training")
BIT_EQUAL = Trait("bit_equal", "bit-equal log-probs from both engines")

STEPS = Trait("steps", "a rule that cuts a response into steps")
CONTINUED = Trait("continued", "scored continuations of a response from each of its steps")
MULTI_TURN = Trait("multi_turn", "an environment of several turns")
TOOLS = Trait("tools", "tools that the policy calls")
COMPACTS = Trait("compacts", "a context that is compacted, which divides a trajectory into segments")

STORED = Trait("stored", "responses that the data set holds")
GREEDY_BASELINE = Trait("greedy_baseline", "the reward of one greedy response to each prompt")
TEACHER = Trait("teacher", "a reading of the teacher's opinion of each token")
COMPARES = Trait("compares", "a comparison of responses that are judged good or bad")

CUTS = Trait("cuts", "a schedule that stops responses and takes them up again under newer weights")
FIRST_COME = Trait("first_come", "batches of whatever is finished first")
EVENS_LENGTHS = Trait("evens_lengths", "a limit that keeps the sources of quick responses from filling the batches")
ANSWERS = Trait("answers", "several answers in one response")
JUDGED = Trait("judged", "a score that a model gives")
OWN_SIGNAL = Trait("own_signal", "a loss that learns from something other than an advantage")
