"""The named quantities that a choice may read. What a formula mentions is what the compiler must provide.

The names are those of `probe`'s BATCH.json wherever a user can give the quantity there.
"""

from __future__ import annotations

from .expr import RESPONSE, TOKEN, UPDATE, Var

LOGP = Var("logp_current", TOKEN, r"\ell_t", "ℓₜ", gradient=True)
"""log π_θ(a_t|s_t) on the training engine: the only quantity that carries gradient, with ENTROPY,
KL_EXACT and SQUARES."""
LOGP_OLD = Var("logp_old", TOKEN, r"\log\pi_{\mathrm{old}}", "log π_old")
"""The snapshot at the start of this update phase, evaluated on the training engine."""
LOGP_ROLLOUT = Var("logp_rollout", TOKEN, r"\log\mu", "log μ")
"""What the rollout engine really sampled the token with, recorded at sampling time."""
LOGP_REF = Var("logp_ref", TOKEN, r"\log\pi_{\mathrm{ref}}", "log π_ref")
"""The frozen reference policy."""
LOGP_TEACHER = Var("logp_teacher", TOKEN, r"\log\pi_T", "log π_T")
"""A teacher policy's log-prob of the token that the student sampled."""
ENTROPY = Var("entropy", TOKEN, r"H_t", "Hₜ", gradient=True)
"""Entropy of the current policy at this position, in nats."""
KL_EXACT = Var("kl_exact", TOKEN, r"\mathrm{KL}_t(\pi_\theta\Vert\pi_{\mathrm{ref}})", "KLₜ(π_θ‖π_ref)", gradient=True)
"""Full-vocabulary KL(π_θ‖π_ref) at this position, in nats."""
SQUARES = Var("squares", TOKEN, r"\sum_v\pi_v^2", "Σπᵥ²", gradient=True)
"""Σ_v π_θ(v)² over the vocabulary at this position: the chance that two draws agree."""
PRETRAIN = Var("logp_pretrain", UPDATE, r"\overline{\log\pi_\theta(x)}", "log π_θ(x)", gradient=True)
"""Mean over the update's pretraining texts of log π_θ of the whole text: a second stream of data, of no response."""
VALUE = Var("values", TOKEN, r"V_t", "Vₜ")
"""The critic's value before each action token, a constant in the policy's objective."""
ADVANTAGE = Var("advantage", TOKEN, r"A_t", "Aₜ")
WEIGHT = Var("weight", TOKEN, r"w_t", "wₜ")
"""The reduction's weight, constant over the whole update."""
CORRECTION = Var("correction", TOKEN, r"d_t", "dₜ")
"""The distribution's factor, constant over the whole batch."""
REWARD = Var("reward", RESPONSE, r"R_i", "Rᵢ")
"""The response's total reward after the feedback algebra."""
TOKEN_REWARD = Var("token_reward", TOKEN, r"R_t", "Rₜ")
"""Reward per token: REWARD on the last token, plus whatever feedback places per token."""
PROCESS = Var("rewards", TOKEN, r"p_t", "pₜ")
"""What the environment or a process judge gave for a turn or step, on that unit's last token; 0 elsewhere."""
GREEDY_REWARD = Var("greedy_reward", RESPONSE, r"R^{\mathrm{greedy}}_i", "R[greedy]ᵢ")
"""The reward of the greedy response to the same prompt."""
MC_VALUE = Var("mc_values", TOKEN, r"\hat V_t", "V̂ₜ")
"""The mean reward of continuations sampled from where the token's step begins."""
MC_SPREAD = Var("mc_spread", TOKEN, r"\hat\sigma_t", "σ̂ₜ")
"""The standard deviation of these rewards."""
QUALITY = Var("quality", RESPONSE, r"f_i", "fᵢ")
"""A grader's factor in (0, 1] for how good a passing response is; 0 where the grader gave none."""
ERROR = Var("errors", TOKEN, r"e_t", "eₜ")
"""1 on tokens that a judge marked as wrong, else 0."""
INVALID = Var("invalid", TOKEN, r"b_t", "bₜ")
"""1 on the tokens of a tool call that could not be read, else 0."""
SUCCEEDED = Var("succeeded", TOKEN, r"u_t", "uₜ")
"""1 on the last token of a tool call that was executed with success, else 0."""
AGENT = Var("agent", RESPONSE, r"a_i", "aᵢ")
"""Which agent, or role in a game, made the response: 0, 1, …"""
CHOSEN = Var("chosen", RESPONSE, r"[i=y_w]", "[i=y_w]")
"""1 for the preferred response of a pair, 0 for the other."""
MISMATCHED = Var("mismatched", RESPONSE, r"z_i", "zᵢ")
"""Σ (log π_θ − log π_ref) of some other prompt's response under this prompt: a sample of KL(π_θ‖π_ref)."""
CORRECT = Var("correct", RESPONSE, r"c_i", "cᵢ")
"""The verifiable term's score, before any shaping: what group filters look at."""
LENGTH = Var("length", RESPONSE, r"T_i", "Tᵢ")
"""Action tokens in the response."""
RESPONSES = Var("responses", RESPONSE, r"1", "1")
"""1 for every response: sums of it count responses."""
TOKENS = Var("tokens", TOKEN, r"1", "1")
"""1 for every action token: sums of it count tokens."""
TRUNCATED = Var("truncated", RESPONSE, r"\mathrm{trunc}_i", "truncᵢ")
"""1 where the response ended because a limit was reached."""
VERSION = Var("versions", TOKEN, r"v_t", "vₜ")
"""The weight version that sampled the token."""
TRAINER_VERSION = Var("trainer_version", UPDATE, r"v_\theta", "v_θ")
MAX_TOKENS = Var("max_tokens", UPDATE, r"L", "L")
"""The sampler's limit on a response's length; the compiler puts the number in its place."""
COUNTED = Var("counted", TOKEN, r"m_t", "mₜ")
"""1 for a token that stays in the denominators, 0 for one that a mask takes out of them."""
LAST = Var("last", TOKEN, r"[t=T_i]", "[t=Tᵢ]")
"""1 on a response's last action token: where a reward for the whole response lands."""
SCORES = Var("scores", RESPONSE, r"S_i", "Sᵢ")
"""What the feedback's sources together gave the response; `reward` in probe's input."""


def score(label: str) -> Var:
    """The score of one feedback source, response grain."""
    latex = label.replace("_", r"\_")
    return Var(f"score.{label}", RESPONSE, rf"s^{{\mathrm{{{latex}}}}}_i", f"s[{label}]ᵢ")


def state(label: str, name: str) -> Var:
    """A number that a choice carries from batch to batch, update grain; `label` is the choice's in its recipe."""
    plain = name.replace("_", r"\_")
    return Var(f"state.{label}.{name}", UPDATE, rf"\mathrm{{{plain}}}", name)
