"""The recipe's objective on given numbers, in plain Python float64: how anyone checks our mathematics.

Whole-batch semantics: the given responses are one batch and one update.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from rldsl.algebra.evaluate import Value, gradient
from rldsl.algebra.expr import GROUP, RESPONSE, TOKEN, UPDATE
from rldsl.algebra.variables import LOGP
from rldsl.compiler.objective import Objective
from rldsl.diagnostics import Diagnostic, RecipeError, at

from .batch import Batch, PlainMath
from .settle import rewards, settle, weigh

PER_TOKEN = ("logp_current", "logp_old", "logp_rollout", "logp_ref", "logp_teacher", "values", "versions", "entropy",
             "kl_exact", "turns", "segments")
MADE_HERE = {"reward", "token_reward", "advantage", "weight", "correction", "length", "last", "responses", "scores",
             "correct"}


class Response(BaseModel):
    """One response of BATCH.json; every list has one entry per action token."""

    model_config = ConfigDict(extra="forbid", strict=True)
    prompt: str | int
    reward: float | None = None
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
    turns: list[int] | None = None
    segments: list[int] | None = None
    text: str = ""


class BatchFile(BaseModel):
    """BATCH.json."""

    model_config = ConfigDict(extra="forbid", strict=True)
    trainer_version: int | None = None
    responses: list[Response]


def read_batch(text: str, path: str) -> BatchFile:
    """Parses BATCH.json; RecipeError (RL203, RL205) names the field and the row."""
    try:
        batch = BatchFile.model_validate(json.loads(text))
    except json.JSONDecodeError as error:
        raise RecipeError([at("RL203", f"{path} is not JSON: {error.msg} at line {error.lineno}", None,
                              fix="give an object: {\"responses\": […]}")]) from None
    except ValidationError as error:
        raise RecipeError([_explain(e, path) for e in error.errors()]) from None
    problems = [p for i, r in enumerate(batch.responses) for p in _lengths(i, r, path)]
    if not batch.responses:
        problems.append(at("RL205", f"{path}: `responses` is empty", None, fix="give at least one response"))
    if problems:
        raise RecipeError(problems)
    return batch


def _explain(error: Any, path: str) -> Diagnostic:
    where = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error["loc"]).lstrip(".")
    match error["type"]:
        case "extra_forbidden":
            return at("RL205", f"{path}: unknown field `{where}`", None,
                      fix=f"per-response fields are: {', '.join(Response.model_fields)}")
        case "missing":
            return at("RL205", f"{path}: `{where}` is missing", None, fix="give it")
    return at("RL203", f"{path}: `{where}` {error['msg'].removeprefix('Input ')}", None,
              fix="NaN and infinity are not numbers here; null is allowed only for `reward`")


def _lengths(i: int, r: Response, path: str) -> list[Diagnostic]:
    n, out = len(r.logp_current), []
    if r.reward is not None and not math.isfinite(r.reward):
        out.append(at("RL204", f"{path}: `responses[{i}].reward` must be finite", None, fix="null means: no score"))
    for name in PER_TOKEN:
        column = getattr(r, name)
        if column is not None and len(column) != n:
            out.append(at("RL203", f"{path}: `responses[{i}].{name}` has {len(column)} entries where "
                          f"`logp_current` has {n}", None, why="every list has one entry per action token",
                          fix="make the lengths equal"))
        elif column is not None and not all(map(math.isfinite, column)):
            out.append(at("RL204", f"{path}: `responses[{i}].{name}` must be finite", None, fix="give finite numbers"))
    return out


def probe(objective: Objective, batch: BatchFile, path: str = "BATCH.json",
          siblings: int | None = None) -> dict[str, Any]:
    """Objective, loss, terms and per-token advantage, ratio, weight, correction and d loss/d logp_current."""
    full = _columns(objective, batch, path)
    scored = [i for i, r in enumerate(batch.responses) if r.reward is not None]
    given = rewards(objective, full.select(scored))
    settled = settle(objective, _kept_groups(objective, given))
    update = weigh(objective, settled.batch)
    terms = {t.name: update.value(t.expr).data[0] for t in objective.terms()}
    if objective.value_target is not None:
        terms["value"] = _value_loss(update)
    total = sum(v for k, v in terms.items() if k != "value")
    return {"objective": total, "loss": -total, "terms": terms, "warnings": _warnings(batch, siblings),
            "responses": _responses(objective, batch, given, update)}


def _columns(objective: Objective, batch: BatchFile, path: str) -> Batch:
    rows = batch.responses
    _require(objective, batch, path)
    columns: dict[str, Value] = {}
    for name in PER_TOKEN[:-2]:
        if all(getattr(r, name) is not None for r in rows):
            columns[name] = Value(TOKEN, [float(x) for r in rows for x in getattr(r, name)])
    columns["scores"] = Value(RESPONSE, [r.reward if r.reward is not None else 0.0 for r in rows])
    columns["correct"] = columns["scores"]
    columns["truncated"] = Value(RESPONSE, [float(r.truncated) for r in rows])
    newest = max((v for r in rows for v in r.versions or [0]), default=0)
    trainer = newest if batch.trainer_version is None else batch.trainer_version
    columns["trainer_version"] = Value(UPDATE, [float(trainer)])
    extra = {name: [getattr(r, name) for r in rows] for name in ("turns", "segments")
             if all(getattr(r, name) is not None for r in rows)}
    labels = {p: i for i, p in enumerate(dict.fromkeys(r.prompt for r in rows))}
    lengths, groups = [len(r.logp_current) for r in rows], [labels[r.prompt] for r in rows]
    return Batch.of(lengths, groups, columns, PlainMath(), **extra)


def _require(objective: Objective, batch: BatchFile, path: str) -> None:
    """Every per-token quantity that a formula reads must be given for every response."""
    needed = objective.reads() - MADE_HERE
    missing = [at("RL205", f"{path}: `responses[{i}].{name}` is missing; the recipe's objective reads it", None,
                  fix=f"give `{name}`, one number per action token")
               for name in PER_TOKEN if name in needed
               for i, r in enumerate(batch.responses) if getattr(r, name) is None]
    if missing:
        raise RecipeError(missing)


def _kept_groups(objective: Objective, batch: Batch) -> Batch:
    for keep in objective.keeps:
        kept = Value(GROUP, batch.value(keep.expr, GROUP).data)
        stays = batch.math.spread(kept, batch.shape, RESPONSE)
        batch = batch.select([i for i, s in enumerate(stays) if s])
    return batch


def _value_loss(update: Batch) -> float:
    pairs = zip(update.columns["values"].data, update.columns["value_target"].data, strict=True)
    errors = [0.5 * (v - t) ** 2 for v, t in pairs]
    return sum(errors) / len(errors) if errors else 0.0


def _gradient(objective: Objective, update: Batch) -> list[float]:
    env = {k: v.data for k, v in update.columns.items()}
    out = [0.0] * sum(update.lengths)
    for term in objective.terms():
        part = gradient(term.expr, env, update.shape).get(LOGP.name, [0.0] * len(out))
        out = [a - b for a, b in zip(out, part, strict=True)]
    return out


def _responses(objective: Objective, file: BatchFile, given: Batch, update: Batch) -> list[dict]:
    """One record per given response, in the given order. What is not in the loss has no weight and no gradient."""
    n = sum(update.lengths)
    ratio = update.value(objective.ratio, TOKEN).data if objective.ratio is not None else [1.0] * n
    columns = {"advantage": update.columns["advantage"].data, "ratio": ratio, "weight": update.columns["weight"].data,
               "correction": update.columns["correction"].data, "gradient": _gradient(objective, update)}
    reward = dict(zip(given.rows, given.columns["reward"].data, strict=True))
    out: list[dict] = [{"kept": False, "reward": reward.get(i)} for i in range(len(file.responses))]
    start = 0
    for row, length in zip(update.rows, update.lengths, strict=True):
        part = slice(start, start + length)
        out[row] = {"kept": True, "reward": reward[row], **{k: v[part] for k, v in columns.items()}}
        start += length
    return out


def _warnings(batch: BatchFile, siblings: int | None) -> list[str]:
    if siblings is None:
        return []
    sizes = Counter(r.prompt for r in batch.responses)
    return [f"prompt {p!r} has {n} responses where the recipe samples {siblings}" for p, n in sizes.items()
            if n != siblings]
