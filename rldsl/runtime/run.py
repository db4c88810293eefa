"""A run: what the executor needs, assembled by a backend, and what of it changes from batch to batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rldsl.axes.control import Schedule
from rldsl.axes.detect import Detector
from rldsl.compiler.graph import Graph
from rldsl.compiler.objective import Objective
from rldsl.diagnostics import Diagnostic

from .control import Terms
from .errors import RunError
from .health import watching
from .journal import Journal
from .ledger import Ledger
from .prompts import Prompts
from .protocols import RolloutEngine, StreamingRollout, TrainEngine
from .scoring import ScoreItem, ScoreResult
from .traces import Tracing
from .usage import Usage

Score = Callable[[Sequence[ScoreItem]], Sequence[Sequence[ScoreResult]]]
Observe = Callable[[str, Mapping[str, Any]], None]


@dataclass
class Progress:
    """What a checkpoint holds beside weights. `batch` is the next one to sample, and the number of trained ones;
    `carried` is what choices carry from batch to batch: {choice: {name: number}}; `pool` is what an event loop has
    begun and not yet trained; `health` is what detectors remember, `held_out` the evaluation since the last batch, if
    there was one."""

    ledger: Ledger
    batch: int = 0
    groups: int = 0
    updates: int = 0
    schedule: dict[str, Any] = field(default_factory=dict)
    health: dict[str, Any] = field(default_factory=dict)
    held_out: dict[str, float] = field(default_factory=dict)
    carried: dict[str, dict[str, float]] = field(default_factory=dict)
    pool: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As JSON data."""
        return {**asdict(self), "ledger": self.ledger.to_json()}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Progress:
        """The inverse of `to_json`."""
        return Progress(**{**data, "ledger": Ledger.from_json(data["ledger"])})


@dataclass(frozen=True)
class Settings:
    """The recipe's numbers that nodes of the graph do not carry. `prompts` is the size of a batch; `steps`,
    `warmup_steps` and `critic_warmup` count batches; `lr` is the policy's peak rate."""

    prompts: int
    steps: int
    lr: float
    lr_schedule: str
    warmup_steps: int
    critic_warmup: int
    seed: int


@dataclass
class Run:
    """One training run. `observe` hears of every journal event and of what is being done ("doing"). A `fresh` run has
    trained nothing and evaluates once before it does; `fingerprint` is of the weights that sample; `pretrain` are
    texts of a second stream of data, as token ids; `detectors` watch the metrics, `tracing` says which responses are
    written down to be read, `usage` measures the machine. `push` brings the trainer's weights to engines of their own
    and gives the fingerprint; without it the trainer publishes.
    A run with a `stream` is the event loop's. `recover` is asked after an error whether what died is there again, with
    `progress` as it was at a checkpoint. `lend`, where engines share the trainer's devices, has these stop before it
    trains (False) and sample again after (True).
    """

    folder: Path
    objective: Objective
    graph: Graph
    schedule: Schedule
    terms: Terms
    settings: Settings
    rollout: RolloutEngine
    trainer: TrainEngine
    data: Prompts
    held_out: Mapping[str, Prompts]
    score: Score
    journal: Journal
    progress: Progress
    observe: Observe
    fresh: bool
    fingerprint: str = ""
    pretrain: Sequence[tuple[int, ...]] = ()
    detectors: Sequence[Detector] = field(default_factory=lambda: watching(()))
    tracing: Tracing | None = None
    push: Callable[[], str] | None = None
    usage: Usage = field(default_factory=Usage)
    stream: StreamingRollout | None = None
    recover: Callable[[RunError], bool] | None = None
    lend: Callable[[bool], None] = lambda again: None

    @property
    def checkpoints(self) -> Path:
        """The folder of the run's checkpoints."""
        return self.folder / "checkpoints"

    def record(self, kind: str, **data: Any) -> None:
        """Writes an event to the journal and shows it."""
        self.journal.append(kind, **data)
        self.observe(kind, data)

    def warn(self, found: Diagnostic) -> None:
        """Writes a warning to the journal and shows it."""
        self.record("warning", step=self.progress.batch, code=found.code, message=found.message, why=found.why,
                    fix=found.fix)
