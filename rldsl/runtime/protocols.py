"""What the runtime asks of a backend: an engine that samples, and one that trains.

A sampler answers whole batches (RolloutEngine) or single requests (StreamingRollout). A RolloutEngine may be the
trainer too; then the weights are shared and publishing them moves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .batch import Batch, Math
from .tally import Tally
from .trajectory import Request, SamplingOptions, Trajectory


@dataclass(frozen=True)
class Cutting:
    """How rows are cut into micro-batches: at most `micro_tokens` computed tokens each (none: one piece), of equal
    cost (`balance`) or in order, with a prompt computed once for its responses (`share_prompts`) or for each."""

    micro_tokens: int | None
    balance: bool
    share_prompts: bool


@dataclass(frozen=True)
class UpdateOptions:
    """How an update is computed. Nothing here changes its result, only what it costs.

    `wants` are the quantities of the current policy that the terms read, from `one_forward` or from one each;
    `skip_zero_rows` leaves out responses whose advantages are all 0.
    """

    wants: tuple[str, ...]
    cutting: Cutting
    one_forward: bool
    skip_zero_rows: bool


@dataclass(frozen=True)
class UpdateJob:
    """One optimizer step on `rows` (in the order of `batch`), whose columns hold every constant.

    `lr_factor` scales the learning rates. `policy` and `critic` say who is trained; `value_clip` bounds how far a
    value may move from the one recorded before the batch (none: unbounded). `pretrain` are texts of a second stream of
    data, each with its first token as the prompt.
    """

    rows: Sequence[Trajectory]
    batch: Batch
    options: UpdateOptions
    lr_factor: float
    policy: bool
    critic: bool
    value_clip: float | None = None
    pretrain: Sequence[Trajectory] = ()


class RolloutEngine(Protocol):
    """Answers requests with the published weights."""

    version: int

    def sample(self, requests: Sequence[Request], options: SamplingOptions, *, batch: int,
               greedy: bool = False, policy: str = "current") -> list[Trajectory]:
        """Trajectories in the order of requests, then siblings; draws depend on (seed, batch, group, sibling).

        `policy` is "current" or "teacher", where the plan's sampling reads the teacher's weights.
        """


class StreamingRollout(Protocol):
    """Answers requests one by one, while others wait or are answered. Nothing here waits for a response to end. One
    that `keeps` goes on with what was paused from what it has computed of it, keys and values of older weights
    included; it may still compute it again. `moved` is when it last wrote a token (`time.monotonic`). One that `serves`
    more than one set of weights is a ServingRollout."""

    version: int
    keeps: bool
    moved: float
    serves: int

    def start(self, requests: Sequence[Request], options: SamplingOptions, *, batch: int) -> None:
        """Begins to answer, and returns at once; every sibling is its own stream. What is paused goes on from its
        prefix."""

    def poll(self, timeout: float) -> list[Trajectory]:
        """What has ended since the last poll; [] after `timeout` seconds without."""

    def pause(self) -> list[Request]:
        """Stops all that is in flight: what is to be taken up again, one request for each sibling with its `first` and
        its `prefix` (tokens, log-probs and versions so far). What had ended comes with the next poll."""

    def load(self, version: int, weights: object) -> str:
        """Makes these weights, as the trainer exports them, the ones that sample; a fingerprint of what now samples.
        Nothing is in flight then."""


class ServingRollout(StreamingRollout, RolloutEngine, Protocol):
    """Begins a response with the newest of several sets of weights, and ends it with the same; whole batches are
    answered by the newest, beside what is in flight. It is `free` where a set has nothing under way: `load` replaces
    the oldest of these. What was sent has `arrived` when `load` would not wait for it."""

    free: bool
    arrived: bool

    def send(self, version: int, weights: object) -> None:
        """Begins to load weights, and returns at once; they sample once `load` was called with them."""


class TrainEngine(Protocol):
    """Holds the weights, computes log-probs and values, and takes optimizer steps."""

    math: Math

    def logprobs(self, policy: str, rows: Sequence[Trajectory], wants: Sequence[str],
                 cutting: Cutting) -> dict[str, object]:
        """The wanted quantities under a named policy (current, old, ref, teacher): columns over all action tokens."""

    def values(self, rows: Sequence[Trajectory], cutting: Cutting) -> object:
        """The critic's value before each action token: a column."""

    def replies(self, role: str, asked: Sequence[tuple[str, str]], cutting: Cutting) -> list[float | None]:
        """For each (question, text) the log-prob that the text is the whole reply of the model in a role (judge,
        policy, initial); None where they do not fit its context."""

    def valued(self, responses: Sequence[tuple[str, str]], cutting: Cutting) -> list[float | None]:
        """The reward model's number for each (prompt, response); None where they do not fit its context."""

    def update(self, job: UpdateJob) -> Tally:
        """One step; RunError RL601 before the step where anything is not finite."""

    def publish(self) -> str:
        """Makes the weights the ones that sample, as the next version; a fingerprint of what now samples."""

    def export(self) -> object:
        """The policy's weights for `StreamingRollout.load`; later updates do not change them."""

    def forget(self) -> None:
        """Begins anew with the optimizer's state of the policy, as before its first step."""

    def save(self, folder: Path) -> None:
        """Writes all weights and optimizer states as files into an empty folder."""

    def load(self, folder: Path, version: int) -> None:
        """Restores what `save` wrote; RunError RL609 names a piece that is missing or does not fit."""
