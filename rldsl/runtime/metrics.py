"""The standard metric names, with what each one is. Journal, tracker, live view and report use the same."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """`name` in journal and tracker, `title` for people, `style` of writing it (number, share or rate), and
    what is measured over what."""

    name: str
    title: str
    style: str
    definition: str


REWARD = Metric("reward/mean", "reward", "number",
                "mean over the batch's scored responses of the raw sum of feedback sources, before shaping")
HELD_OUT = Metric("held_out/score", "held-out", "number",
                  "mean score on held-out problems, which training never sees")
UNTRAINED = Metric("held_out/untrained", "held-out, untrained", "number",
                   "the same before the supervised warm start: what the initial weights know")
GRAD_NORM = Metric("grad_norm", "grad norm", "number", "L2 norm of the gradient before clipping, mean over updates")
UNIFORM = Metric("groups/uniform", "uniform groups", "share",
                 "share of the batch's groups whose raw scores are all equal, so that no response stands out")
TRUNCATED = Metric("responses/truncated", "truncated", "share", "share of responses ended by the length limit")
UNSCORED = Metric("responses/unscored", "unscored", "share", "share of responses that scoring failed on")
LENGTH = Metric("responses/length", "length", "number", "mean number of tokens per response")
KEPT = Metric("responses/kept", "kept", "share", "share of generated responses that filters left in the batch")
LOSS = Metric("loss", "loss", "number", "minus the objective: policy term and regularisers, mean over updates")
ENTROPY = Metric("entropy", "entropy", "number", "mean entropy in nats at action tokens, current policy")
TOKENS_PER_SECOND = Metric("tokens_per_second", "tokens/s", "rate",
                           "response tokens of the batch per second of the whole step")
ROUNDED_AWAY = Metric("lora/rounded_away", "lost of the addition", "share",
                      "norm of what rounding to the dtype of the computation takes from the low-rank additions over "
                      "their norm, after the update; mean over updates")
STEP_SECONDS = Metric("step_seconds", "s/step", "number", "wall-clock seconds of the whole step")

STANDARD = (REWARD, HELD_OUT, GRAD_NORM, UNIFORM, TRUNCATED, UNSCORED, KEPT, LENGTH, LOSS, ENTROPY,
            TOKENS_PER_SECOND, STEP_SECONDS)
DETAILS = (
    UNTRAINED,
    Metric("correct/mean", "correct", "number",
           "mean score of the verifiable term over scored responses, before filters"),
    Metric("reward/shaped", "shaped reward", "number",
           "mean reward with shaping, over the responses in the statistics"),
    Metric("groups/generated", "groups generated", "number", "prompts sampled for the batch, refills included"),
    Metric("groups/kept", "groups kept", "number", "prompts that reach the advantage"),
    Metric("groups/rounds", "rounds", "number", "sampling rounds for the batch"),
    Metric("groups/all_failed", "all failed", "number", "groups a filter dropped without a success in them"),
    Metric("groups/all_passed", "all passed", "number", "groups a filter dropped without a failure in them"),
    Metric("groups/reduced_to_one", "reduced to one", "number", "groups in the statistics with one response left"),
    Metric("advantage/abs", "|A|", "number", "mean |A| over tokens in the statistics"),
    Metric("advantage/zero", "A = 0", "share", "share of responses in the statistics whose advantages are all 0"),
    Metric("reward/spread", "reward spread", "number",
           "standard deviation of the raw scores over the responses in the statistics"),
    Metric("entropy/sampled", "sampled entropy", "number",
           "mean −log μ over tokens in the statistics, in nats: an unbiased estimate of the sampler's entropy"),
    Metric("prompts/information", "prompt's share", "share",
           "share of a token's entropy that its prompt explains: plug-in mutual information of prompt and token over "
           "the statistics (first 64 tokens, first 512 responses), less the same with responses dealt out at random, "
           "over the tokens' entropy; may lie a little below 0"),
    Metric("critic/explained_variance", "explained variance", "number", "1 − Var(target − V)/Var(target) over tokens"),
    Metric("critic/value_loss", "value loss", "number", "mean ½(V − target)² over the tokens of all critic steps"),
    Metric("critic/grad_norm", "critic grad norm", "number", "L2 norm before clipping, mean over critic steps"),
    Metric("staleness/mean", "staleness", "number", "mean of trainer version − oldest version in the response"),
    Metric("staleness/max", "staleness, most", "number", "largest of trainer version − oldest version in the response"),
    Metric("kappa/mean", "κ", "number", "mean π_old/μ over tokens in the statistics"),
    Metric("kappa/log_abs", "|log κ|", "number", "mean |log κ| over tokens in the statistics"),
    Metric("kappa/log_abs_p99", "|log κ|, 99th", "number", "99th percentile of |log κ| over tokens in the statistics"),
    Metric("kappa/tail", "κ, tail", "share", "share of tokens in the statistics with κ below 1/2 or above 2"),
    Metric("correction/mean", "d", "number", "mean of the distribution's factor over tokens in the statistics"),
    Metric("correction/zero", "d = 0", "share", "share of tokens in the statistics that the distribution masks"),
    Metric("responses/collected", "collected", "number", "responses of the batch that passed and are kept as data"),
    Metric("rows_computed", "rows computed", "number", "responses through forward and backward, mean over updates"),
    Metric("ratio/mean", "r", "number", "mean r before the gate, over computed tokens of all updates"),
    Metric("ratio/distance", "|r − 1|", "number", "mean |r − 1| before the gate, over computed tokens of all updates"),
    Metric("gated", "gated", "share", "share of computed tokens with gradient exactly 0 although A, w and d are not"),
    Metric("mismatch/mean", "ℓ − log μ", "number", "mean, over computed tokens: engine mismatch, lag and movement"),
    Metric("mismatch/abs", "|ℓ − log μ|", "number", "mean, over computed tokens of all updates"),
    Metric("mismatch/tail", "|ℓ − log μ|, tail", "share",
           "share of computed tokens of all updates whose probabilities for trainer and sampler differ by more than a "
           "factor of 2"),
    Metric("kl_exact", "exact KL", "number", "mean KL(π_θ‖π_ref) over the vocabulary, in nats, over computed tokens"),
    Metric("squares", "Σπ²", "number", "mean sum of squared probabilities over the vocabulary, over computed tokens"),
    Metric("logp_pretrain", "log π of texts", "number",
           "mean log-likelihood of a pretraining text, in nats, at the start of the update; mean over updates"),
    ROUNDED_AWAY,
    Metric("lr", "learning rate", "number", "the policy's learning rate in this batch"),
    Metric("updates", "updates", "number", "optimizer updates since the run began"),
    Metric("responses/cut", "cuts", "number", "times that a response of the batch was stopped and taken up again"),
    Metric("responses/retired", "retired", "number", "responses that were given up for having been cut too often"),
    Metric("tokens", "tokens", "number", "response tokens sampled for the batch"),
    Metric("system/cpu_cores", "cores busy", "number",
           "CPU seconds of the training process and its ended children per second, since the last measurement"),
    Metric("system/memory_megabytes", "memory, MB", "number", "resident memory of the training process"),
    Metric("system/load", "load", "number", "the machine's load average over a minute"),
    Metric("system/disk_free_megabytes", "disk free, MB", "number", "free space on the disk of the run's folder"),
    Metric("system/gpu_memory_megabytes", "GPU memory, MB", "number",
           "most memory allocated on the GPU by the training process, since the last measurement"),
    Metric("held_out/unscored", "held-out unscored", "share", "share of held-out responses that scoring failed on"),
)
FAMILIES = {
    "divergence": Metric("divergence/", "divergence,", "number",
                         "mean of this divergence between policy and teacher, in nats, over computed tokens"),
    "held_out": Metric("held_out/", "held-out", "number", "mean score on this task's held-out problems"),
    "memory": Metric("memory/", "memory, MB,", "number",
                     "most resident memory of a process of this role of the cluster, in megabytes"),
    "left": Metric("left/", "left by", "share", "share of scored responses that this choice took out of the batch"),
    "objective": Metric("objective/", "objective,", "number", "this term of J, mean over updates"),
    "stage": Metric("stage/", "after", "number", "held-out score at the end of this stage of a pipeline"),
    "seconds": Metric("seconds/", "seconds,", "number", "wall-clock seconds of the graph's nodes of this kind"),
}
"""By the part of a name before its `/`, where what follows is the run's own."""

SHOWN = (REWARD, HELD_OUT, GRAD_NORM, UNIFORM, TRUNCATED, TOKENS_PER_SECOND)
BY_NAME = {metric.name: metric for metric in (*STANDARD, *DETAILS)}


def metric(name: str) -> Metric:
    """The metric of that name, or a plain number for a name that is none."""
    family, _, member = name.partition("/")
    if name not in BY_NAME and family in FAMILIES:
        known = FAMILIES[family]
        return Metric(name, f"{known.title} {member}", known.style, known.definition)
    return BY_NAME.get(name) or Metric(name, name, "number", "")


def written(value: float | None, style: str) -> str:
    """A value for people: three significant digits, shares in per cent, `–` where there is none."""
    if value is None:
        return "–"
    if style == "share":
        return f"{value:.0%}"
    return f"{value:,.0f}" if style == "rate" else f"{value:.3g}"
