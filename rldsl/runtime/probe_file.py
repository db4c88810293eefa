"""BATCH.json: the numbers that `probe` takes, read and checked."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from rldsl.diagnostics import Diagnostic, RecipeError, at

PER_TOKEN = ("logp_current", "logp_old", "logp_rollout", "logp_ref", "logp_teacher", "values", "versions", "entropy",
             "kl_exact", "squares", "rewards", "errors", "mc_values", "invalid", "succeeded")
LOGPS = tuple(name for name in PER_TOKEN if name.startswith("logp_"))
ROUNDING = 1e-6
"""How far above 0 a log-prob may come by rounding."""
PER_RESPONSE = ("greedy_reward", "quality", "agent", "chosen", "mismatched")
"""Numbers of a whole response, under the names of the variables that formulas read."""
LABELS = ("turns", "steps", "segments", "states")
"""Which turn, step, segment or state each token belongs to."""


KINDS = {"model_type": "must be an object", "dict_type": "must be an object", "list_type": "must be a list",
         "float_type": "must be a number", "int_type": "must be a whole number", "string_type": "must be text",
         "bool_type": "must be true or false"}
"""What a value has to be, by the reader's name for it not being that."""
OBJECT = 'write {"responses": [{"prompt": "p0", "reward": 1.0, "logp_current": [-0.5], …}, …]}, or "pairs"'
SHAPES = {"model_type": OBJECT, "dict_type": OBJECT, "list_type": OBJECT}
"""What to write instead where the shape is wrong, not a number."""


class Response(BaseModel):
    """One response of BATCH.json; every list has one entry per action token. `divergences` are from the teacher, under
    the names of the variables that formulas read."""

    model_config = ConfigDict(extra="forbid", strict=True)
    prompt: str | int
    reward: float | None
    correct: float | None = None
    scores: dict[str, float] | None = None
    truncated: bool = False
    logp_current: list[float]
    logp_old: list[float] | None = None
    logp_rollout: list[float] | None = None
    logp_ref: list[float] | None = None
    logp_teacher: list[float] | None = None
    values: list[float] | None = None
    versions: list[int] | None = None
    entropy: list[float] | None = None
    kl_exact: list[float] | None = None
    squares: list[float] | None = None
    divergences: dict[str, list[float]] | None = None
    rewards: list[float] | None = None
    errors: list[int] | None = None
    mc_values: list[float] | None = None
    invalid: list[int] | None = None
    succeeded: list[int] | None = None
    greedy_reward: float | None = None
    quality: float | None = None
    agent: int | None = None
    chosen: int | None = None
    mismatched: float | None = None
    turns: list[int] | None = None
    steps: list[int] | None = None
    segments: list[int] | None = None
    states: list[int | str] | None = None
    text: str = ""


class Member(Response):
    """One side of a pair: the pair is its prompt, and has no score."""

    prompt: str | int = ""
    reward: float | None = None


class Pair(BaseModel):
    """Two responses to one prompt, the first preferred."""

    model_config = ConfigDict(extra="forbid", strict=True)
    chosen: Member
    rejected: Member


class BatchFile(BaseModel):
    """BATCH.json: responses, or pairs. `logp_pretrain` is the mean log-likelihood of the update's pretraining texts,
    `state` what choices carry from batch to batch: {choice: {name: number}}."""

    model_config = ConfigDict(extra="forbid", strict=True)
    trainer_version: int | None = None
    logp_pretrain: float | None = None
    state: dict[str, dict[str, float]] = {}
    responses: list[Response] = []
    pairs: list[Pair] = []

    def rows(self) -> list[Response]:
        """Every response; of a pair first the chosen one, then the rejected one."""
        return [*self.responses, *(r for p in self.pairs for r in (p.chosen, p.rejected))]

    def place(self, i: int) -> str:
        """How messages name row i."""
        if i < len(self.responses):
            return f"responses[{i}]"
        pair, side = divmod(i - len(self.responses), 2)
        return f"pairs[{pair}].{('chosen', 'rejected')[side]}"


def read_batch(text: str, path: str) -> BatchFile:
    """Parses BATCH.json; RecipeError (RL203, RL204, RL205) names the field and the row."""
    try:
        batch = BatchFile.model_validate(json.loads(text, object_pairs_hook=_once))
    except ValidationError as error:
        first: dict[str, Any] = {}
        for each in error.errors():
            first.setdefault(_place(each["loc"]), each)
        raise RecipeError([_explain(e, place, path) for place, e in first.items()]) from None
    except (ValueError, RecursionError) as error:
        raise RecipeError([at("RL203", f"{path} is not JSON: {_reason(error)}", None,
                              fix="give an object: {\"responses\": […]}")]) from None
    problems = [*_unbounded(batch, path),
                *(p for i, r in enumerate(batch.rows()) for p in _problems(batch.place(i), r, path))]
    if bool(batch.responses) == bool(batch.pairs):
        problems.append(at("RL205", f"{path}: give `responses` or `pairs`, and at least one of them", None,
                           fix="pairs are for preference losses, responses for everything else"))
    if problems:
        raise RecipeError(problems)
    return batch


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose fields are all there once; JSON readers otherwise keep the last and say nothing."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"`{next(n for n in names if names.count(n) > 1)}` is given twice in one object")
    return found


def _reason(error: Exception) -> str:
    match error:
        case json.JSONDecodeError():
            return f"{error.msg}, line {error.lineno}"
        case RecursionError():
            return "it is nested too deep"
    return str(error).partition(";")[0]


def _place(steps: tuple[int | str, ...]) -> str:
    """`responses[0].prompt`; the last step of a choice between kinds is none."""
    steps = steps[:-1] if steps and steps[-1] in ("str", "int", "float") else steps
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in steps).lstrip(".")


def _explain(error: Any, where: str, path: str) -> Diagnostic:
    match error["type"]:
        case "extra_forbidden":
            return at("RL205", f"{path}: unknown field `{where}`", None,
                      fix=f"per-response fields are: {', '.join(Response.model_fields)}")
        case "missing":
            null = "; null means: no score" if where.endswith(".reward") else ""
            return at("RL205", f"{path}: `{where}` is missing", None, fix=f"give it{null}")
    says = KINDS.get(error["type"], error["msg"].removeprefix("Input "))
    fix = SHAPES.get(error["type"], "NaN and infinity are not numbers here; null is allowed only for `reward`")
    return at("RL203", f"{path}: `{where}` {says}" if where else f"{path} {says}", None, fix=fix)


def finite(x: float) -> bool:
    """Whether double precision holds it: a whole number of JSON may be too large as well."""
    try:
        return math.isfinite(x)
    except OverflowError:
        return False


def largest(batch: BatchFile) -> tuple[str, int | float]:
    """The number of the largest size, and the field that holds it."""
    fields = [("trainer_version", batch.trainer_version), ("logp_pretrain", batch.logp_pretrain),
              *((f"state.{choice}.{name}", x) for choice, names in batch.state.items() for name, x in names.items())]
    for i, r in enumerate(batch.rows()):
        for name in type(r).model_fields:
            value = getattr(r, name)
            parts = value.values() if isinstance(value, dict) else [value]
            inner = [x for part in parts for x in (part if isinstance(part, list) else [part])]
            fields += [(f"{batch.place(i)}.{name}", x) for x in inner]
    numbers = [(place, x) for place, x in fields if isinstance(x, (int, float)) and not isinstance(x, bool)]
    return max(numbers, key=lambda n: abs(n[1]), default=("", 0))


def odd(batch: BatchFile) -> list[str]:
    """What no model and no engine could have recorded, one sentence for each field and response."""
    found = []
    for i, r in enumerate(batch.rows()):
        place = batch.place(i)
        for name in LOGPS:
            above = [x for x in getattr(r, name) or () if x > ROUNDING]
            if above:
                found.append(f"{place}.{name} holds {above[0]:g}: the log-prob of a token is at most 0")
        wrong = [v for v in r.versions or () if v < 0]
        if wrong:
            found.append(f"{place}.versions holds {wrong[0]}: versions count from 0")
        late = [v for v in r.versions or () if batch.trainer_version is not None and v > batch.trainer_version]
        if late:
            found.append(f"{place}.versions holds {late[0]}, which is newer than the trainer's {batch.trainer_version}")
    return found


def _unbounded(batch: BatchFile, path: str) -> Iterator[Diagnostic]:
    """Numbers beside the responses that are not finite."""
    named = {"trainer_version": batch.trainer_version, "logp_pretrain": batch.logp_pretrain,
             **{f"state.{choice}.{name}": x for choice, names in batch.state.items() for name, x in names.items()}}
    for name, x in named.items():
        if x is not None and not finite(x):
            yield at("RL204", f"{path}: `{name}` must be finite", None, fix="give a finite number")


def _problems(place: str, r: Response, path: str) -> Iterator[Diagnostic]:
    n = len(r.logp_current)
    for name in ("reward", "correct", *PER_RESPONSE):
        value = getattr(r, name)
        if value is not None and not finite(value):
            yield at("RL204", f"{path}: `{place}.{name}` must be finite", None, fix="null means: no score")
    for name, value in (r.scores or {}).items():
        if not finite(value):
            yield at("RL204", f"{path}: `{place}.scores.{name}` must be finite", None, fix="give a finite number")
    named = {name: getattr(r, name) for name in (*PER_TOKEN, *LABELS)}
    for name, column in {**named, **{f"divergences.{k}": v for k, v in (r.divergences or {}).items()}}.items():
        if column is not None and len(column) != n:
            yield at("RL203", f"{path}: `{place}.{name}` has {len(column)} entries where `logp_current` has {n}", None,
                     why="every list has one entry per action token", fix="make the lengths equal")
        elif column is not None and name not in LABELS and not all(map(finite, column)):
            yield at("RL204", f"{path}: `{place}.{name}` must be finite", None, fix="give finite numbers")
        elif column is not None and name in LABELS[:3] and _comes_back(column):
            yield at("RL204", f"{path}: `{place}.{name}` comes back to a label that it has left", None,
                     why="the tokens of one turn, step or segment stand together", fix="number them in order")


def _comes_back(labels: list) -> bool:
    runs = [x for i, x in enumerate(labels) if i == 0 or labels[i - 1] != x]
    return len(runs) != len(set(runs))
