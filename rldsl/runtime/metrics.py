"""What each reported number is, and over what it is taken. Numbers are raw: before masking, clipping, truncation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """A definition and its scope. A name that ends in `/` stands for a family, one member per what follows."""

    says: str
    over: str


METRICS: dict[str, Metric] = {
    "reward": Metric("mean reward after the feedback algebra, shaping included", "responses in the statistics"),
    "correct": Metric("mean score of the verifiable term", "scored responses, before group filters"),
    "held_out/": Metric("mean score of the verifiable term on problems that are never trained", "evaluation responses"),
    "held_out_unscored/": Metric("share of evaluation responses without a score", "evaluation responses"),
    "response_length": Metric("mean action tokens", "sampled responses"),
    "truncated": Metric("share that ended at a limit", "sampled responses"),
    "unscored": Metric("share without a score; they leave every statistic and denominator", "sampled responses"),
    "generated_groups": Metric("prompts sampled, refills included", "batch"),
    "kept_groups": Metric("prompts that reach the advantage", "batch"),
    "all_failed_groups": Metric("groups a filter dropped without a success in them", "batch"),
    "all_passed_groups": Metric("groups a filter dropped without a failure in them", "batch"),
    "rounds": Metric("sampling rounds", "batch"),
    "uniform_groups": Metric("share of groups whose rewards are all equal", "groups in the statistics"),
    "groups_reduced_to_one": Metric("groups of which one response is left", "groups in the statistics"),
    "left/": Metric("share that this choice took out of the batch", "scored responses"),
    "advantage_abs": Metric("mean |A|", "tokens in the statistics"),
    "explained_variance": Metric("1 − Var(target − V) / Var(target)", "tokens in the statistics"),
    "staleness": Metric("mean of trainer version − oldest version in the response", "responses in the statistics"),
    "staleness_max": Metric("largest of trainer version − oldest version", "responses in the statistics"),
    "kappa": Metric("mean κ = π_old/μ", "tokens in the statistics"),
    "log_kappa_abs": Metric("mean |log κ|", "tokens in the statistics"),
    "log_kappa_abs_p99": Metric("99th percentile of |log κ|", "tokens in the statistics"),
    "correction": Metric("mean of the distribution's factor d", "tokens in the statistics"),
    "correction_zero": Metric("share with d = 0", "tokens in the statistics"),
    "rows_computed": Metric("responses that went through forward and backward, mean of the updates", "updates"),
    "objective/": Metric("a term of J, mean of the updates", "updates"),
    "grad_norm": Metric("norm of the whole gradient before clipping, mean of the updates", "updates"),
    "ratio": Metric("mean r, before the gate", "computed tokens of all updates"),
    "ratio_distance": Metric("mean |r − 1|, before the gate", "computed tokens of all updates"),
    "gated": Metric("share with gradient exactly 0 although A, w and d are not", "computed tokens of all updates"),
    "mismatch": Metric("mean ℓ − log μ: engine mismatch, lag, movement", "computed tokens of all updates"),
    "mismatch_abs": Metric("mean |ℓ − log μ|", "computed tokens of all updates"),
    "entropy": Metric("mean entropy of the current policy, nats", "computed tokens of all updates"),
    "kl_exact": Metric("mean KL(π_θ‖π_ref) over the vocabulary, nats", "computed tokens of all updates"),
    "value_loss": Metric("mean ½(V − target)²", "tokens of all critic steps"),
    "critic_grad_norm": Metric("norm of the critic's gradient before clipping, mean of its steps", "critic steps"),
    "lr": Metric("learning rate of the policy", "batch"),
    "updates": Metric("optimizer updates so far", "run"),
    "tokens": Metric("sampled action tokens", "batch"),
    "tokens_per_second": Metric("sampled action tokens over the wall time of the batch, training included", "batch"),
    "seconds": Metric("wall time", "batch"),
    "seconds/": Metric("wall time of the nodes of one kind", "batch"),
}


def metric(name: str) -> Metric | None:
    """The definition of a reported name."""
    family = name.partition("/")[0] + "/"
    return METRICS.get(name) or METRICS.get(family)
