"""The settings beside the eight axes: one frozen dataclass per block, with the same bounded types as choices.

Every field is read by something: a setting without a reader does not exist here. A field marked `Bare` is
written without a key (`local`, `adamw(lr: 1e-6)`); writing it drops its whole family, and the other way round.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_type_hints

from rldsl.axes.base import Optimizer
from rldsl.axes.detect import Detector
from rldsl.axes.types import (
    Band,
    Batches,
    Bound,
    Bytes,
    Count,
    Fraction,
    Natural,
    Positive,
    Prompts,
    Seconds,
    Tokens,
    Unit,
)
from rldsl.diagnostics import Diagnostic, Span, at

DTYPES = {"bf16": "bfloat16", "fp32": "float32"}


@dataclass(frozen=True)
class Bare:
    """Marks a field that is written as a bare entry. `drops` are the keys that leave when it is written."""

    drops: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecipeName:
    """Marks a text field that names a recipe, written as a plain name."""


TRACKERS = ("sqlite", "file", "http", "https", "postgresql", "mysql", "mssql", "databricks")


@dataclass(frozen=True)
class TrackerAddress:
    """Marks a text that says where MLflow tracks: a database, a folder or a server."""

    def broken(self, address: str) -> str | None:
        """What is wrong with it, in words, or None. Where it leads, only a run finds out."""
        scheme, colon, rest = address.partition(":")
        if not colon:
            return None  # a folder
        if scheme.partition("+")[0] not in TRACKERS or not rest.startswith("//"):
            return "must be a database, a folder or a server"
        path = rest.removeprefix("//").lstrip("/").partition("?")[0]
        if scheme == "sqlite" and path in ("", ":memory:"):
            return "must be kept somewhere: a database in memory is gone with its process"
        return None if path else f"must name something behind {scheme}://"


@dataclass(frozen=True)
class FromStage:
    """Marks a setting that a stage of a pipeline can take from another stage.

    `takes` is what: a policy, a critic or a data set. `argument` is how the stage's call names it; none is its `from`.
    `resets` are settings (`block.key`) that then hold their defaults again, `copies` those of its own block that are
    the other stage's. A `hidden` setting cannot be written in a recipe.
    """

    takes: Literal["policy", "critic", "data"]
    argument: str | None = None
    resets: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    hidden: bool = False


STAGE = "stage:"
"""How a setting says that its value is what another stage of the same pipeline left: `stage:NAME`."""


@dataclass(frozen=True)
class Model:
    """Who is trained. Roles (policy, reference, teachers) are declared here and needed by choices."""

    policy: str | None = None  # "toy:llama-2x64", a model folder, or a hub name
    start: Annotated[str | None, FromStage("policy", resets=("model.warm_start",), hidden=True)] = None
    """The stage whose final weights the policy begins with; none: its own."""
    reference: Annotated[Literal["initial"] | str, FromStage("policy", "reference")] = "initial"
    """`initial` is the policy before the first update."""
    dtype: Literal["auto", "float32", "bfloat16", "fp32", "bf16"] = "auto"  # of the matrix products
    context: Tokens | None = None  # none: what the model's own configuration says
    max_prompt: Tokens | None = None  # none: the context less sampling's max_tokens
    warm_start: Natural = 0
    """Steps of supervised training, before RL, on problems disjoint from training and evaluation; 0 is none."""
    teachers: Annotated[tuple[str, ...], FromStage("policy", "teachers", resets=("model.teacher_warm_start",))] = ()
    """Models whose log-probs are learned from, with the policy's own tokenizer."""
    teaching: Literal["mean"] | str | None = None
    """Which of several teachers scores a response: `mean` is all of them, log-probs and divergences averaged; a text
    is the column of the data that names one of `teachers` in each row."""
    reward: str | None = None  # the sequence classifier whose number is a reward
    judge: Literal["policy"] | str | None = None  # the model that judges responses; `policy` is the one that is trained
    judge_warm_start: Natural = 0
    """Steps of supervised training of reward model and judge, on right and wrong answers: a toy has to learn first."""
    teacher_warm_start: Natural = 0
    """Steps of the same supervised training for each teacher: a toy teacher has to learn before it can teach."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", DTYPES.get(self.dtype, self.dtype))


@dataclass(frozen=True)
class Data:
    """What it is trained on. `prompts` is the size of a batch; `prompt` and `answer` are column names."""

    train: Annotated[str | None, FromStage("data", "data", copies=("prompt", "answer", "template"))] = None
    prompts: Prompts | None = None
    prompt: str = "prompt"
    answer: str = "answer"
    template: str | None = None
    too_long: Literal["error", "drop"] = "error"
    pretrain: str | None = None  # texts that stay likely: prompt and answer of each row, one after the other
    pretrain_texts: Count = 8  # of them in each update
    collect: Count | None = None  # most verified responses to a prompt that are kept as a data set; none keeps none


@dataclass(frozen=True)
class Optim:
    """How a gradient becomes a step, and how often per batch. `warmup_steps` counts batches."""

    optimizer: Annotated[Optimizer | None, Bare()] = None
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup_steps: Natural = 0
    clip_grad: Positive | None = 1.0  # bound on the global gradient norm
    updates_per_batch: Count = 1
    epochs: Count = 1
    layers: Annotated[Band, Bound(ge=0, le=1), Unit("fraction")] | None = None
    """Only layers whose middle lies in this part of the stack, 0 at the embedding, are trained; none trains all."""
    lora_rank: Count | None = None  # train a low-rank addition to each layer's matrices instead of the matrices
    lora_alpha: Positive = 16.0  # the addition is scaled by lora_alpha / lora_rank


@dataclass(frozen=True)
class Critic:
    """The value model, for estimators that read one: a copy of the policy with a new head. Without its own optimizer
    it uses the policy's."""

    optimizer: Annotated[Optimizer | None, Bare()] = None
    start: Annotated[str | None, FromStage("critic", "critic", hidden=True)] = None
    """The stage whose final critic it begins with; none: a copy of the policy."""
    warmup_steps: Natural = 0  # batches that train the critic alone
    updates_per_actor: Count = 1
    value_clip: Positive | None = None


@dataclass(frozen=True)
class Budget:
    """When training ends. `steps` counts batches."""

    steps: Batches | None = None


@dataclass(frozen=True)
class Task:
    """One held-out evaluation. Without its own `samples` it uses the block's."""

    name: str
    samples: Count | None = None


@dataclass(frozen=True)
class Evaluate:
    """Held-out tasks, every so many batches; `problems` bounds the problems taken from each task."""

    tasks: Annotated[tuple[Task, ...], Bare()] = ()
    every: Batches = 20
    samples: Count = 1
    problems: Count = 100


@dataclass(frozen=True)
class Track:
    """What is kept of a run, and where. `mlflow: none` keeps the local journal only; the experiment defaults to the
    recipe's name. `traces` is how many responses are written down to be read, after the first batch, every so many,
    and the last."""

    mlflow: Annotated[str, TrackerAddress()] | None = "sqlite:///mlflow.db"
    experiment: str | None = None
    checkpoint_every: Batches = 10  # the last batch always has one
    traces: Count | None = 4
    traces_every: Batches = 20


@dataclass(frozen=True)
class Health:
    """Signs of ill health to watch for. A detector that is not written here watches with its own thresholds."""

    detectors: Annotated[tuple[Detector, ...], Bare()] = ()


MACHINES = ("nodes", "gpus_per_node", "gpu", "host_memory", "tensor", "pipeline", "context", "expert", "rollout_tensor",
            "reference", "critic", "teacher", "judge", "reward")


@dataclass(frozen=True)
class Cluster:
    """Where it runs: `local`, or so many nodes. `micro_tokens` bounds the tokens of one forward and backward.

    `reference`, `critic` and `teacher` are roles: so many ranks of their own, laid out as the trainer's; without a
    number the role's model is in the trainer's ranks. Each teacher has that many. `judge` is a role without ranks: each
    of its processes holds every model that is asked in texts, or begins responses.
    """

    where: Annotated[Literal["local"] | None, Bare(MACHINES)] = "local"
    nodes: Count | None = None
    gpus_per_node: Count | None = None
    gpu: str | None = None
    host_memory: Bytes | None = None  # of one node
    tensor: Count = 1
    pipeline: Count = 1
    context: Count = 1
    expert: Count = 1
    rollout_tensor: Count = 1
    reference: Count | None = None
    critic: Count | None = None
    teacher: Count | None = None
    judge: Count | None = None  # none: one, where a model is asked
    reward: Count | None = None  # processes that score, of one CPU each; none: beside the driver
    micro_tokens: Tokens | None = None  # none: as the backend judges best


@dataclass(frozen=True)
class Evidence:
    """What a claim about this recipe is compared with, over how many seeds, and which of its values stand in for ones
    that its source does not publish, as dotted paths."""

    baseline: Annotated[str | None, RecipeName()] = None
    seeds: Count = 1
    unpublished: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scoring:
    """The `feedback` block: how long one score may take, and which share of scores may fail before the run stops."""

    timeout: Seconds = 30.0
    max_failed: Fraction = 0.2


@dataclass(frozen=True)
class Settings:
    """Every block of a recipe, defaults filled in. Field names are the block names of the language."""

    model: Model = field(default_factory=Model)
    data: Data = field(default_factory=Data)
    optim: Optim = field(default_factory=Optim)
    critic: Critic = field(default_factory=Critic)
    budget: Budget = field(default_factory=Budget)
    evaluate: Evaluate = field(default_factory=Evaluate)
    track: Track = field(default_factory=Track)
    health: Health = field(default_factory=Health)
    cluster: Cluster = field(default_factory=Cluster)
    evidence: Evidence = field(default_factory=Evidence)
    feedback: Scoring = field(default_factory=Scoring)


@cache
def blocks() -> Mapping[str, type]:
    """{block name: its dataclass}, in the order of `Settings`."""
    return get_type_hints(Settings)


@cache
def hints(cls: type) -> Mapping[str, Any]:
    """The annotations of a block or a choice, by field, with their bounds."""
    every = get_type_hints(cls, include_extras=True)
    return {f.name: every[f.name] for f in dataclasses.fields(cls)}


@cache
def bare_field(block: type) -> tuple[str, Bare] | None:
    """The field that bare entries of a block fill, or None."""
    for name, hint in hints(block).items():
        for mark in get_args(hint)[1:]:
            if isinstance(mark, Bare):
                return name, mark
    return None


@cache
def from_stage(block: type) -> Mapping[str, FromStage]:
    """The fields of a block that a stage can take from another one."""
    found = {name: next((m for m in get_args(hint)[1:] if isinstance(m, FromStage)), None)
             for name, hint in hints(block).items()}
    return {name: mark for name, mark in found.items() if mark is not None}


def keys(block: type) -> tuple[str, ...]:
    """The keys that may be written in a block."""
    bare, filled = bare_field(block), from_stage(block)
    return tuple(name for name in hints(block)
                 if (not bare or name != bare[0]) and not (name in filled and filled[name].hidden))


NEEDED = {
    "model.policy": 'model { policy: "toy:llama-2x64" }',
    "data.train": 'data { train: "toy:addition" }',
    "data.prompts": "data { prompts: 16 }",
    "optim.optimizer": "optim { adamw(lr: 1e-6) }",
    "budget.steps": "budget { steps: 100 }",
}


def missing_for_run(settings: Settings, span: Span) -> list[Diagnostic]:
    """RL202 for each setting that training cannot do without; reading and probing a recipe need none of them."""
    found = []
    for path, example in NEEDED.items():
        block, name = path.split(".")
        if getattr(getattr(settings, block), name) is None:
            found.append(at("RL202", f"training needs {path}, which the recipe does not set", span,
                            "not set in this recipe", fix=f"write {example}"))
    return found
