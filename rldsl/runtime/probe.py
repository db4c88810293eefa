"""The recipe's objective on given numbers, in plain Python float64: how anyone checks our mathematics.

Whole-batch semantics: the given responses are one batch and one update.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from rldsl.algebra.divergence import is_divergence
from rldsl.algebra.evaluate import Value, gradient
from rldsl.algebra.expr import GROUP, ORDINAL, PAIR, RESPONSE, SEGMENT, STATE, STEP, TOKEN, TURN, UPDATE
from rldsl.algebra.grain import variables
from rldsl.algebra.variables import CHOSEN, LOGP, PRETRAIN
from rldsl.compiler.objective import Objective
from rldsl.diagnostics import Diagnostic, RecipeError, at

from .batch import Batch, PlainMath
from .probe_file import LABELS, PER_RESPONSE, PER_TOKEN, BatchFile, Response, largest, odd, read_batch
from .settle import carry, merged, rewards, settle, weigh, with_state

__all__ = ["Response", "BatchFile", "read_batch", "probe"]

MADE_OF = {TURN: ("turns",), ORDINAL: ("turns",), STATE: ("states",), STEP: ("steps",), SEGMENT: ("segments",)}
"""The labels that divide a batch into the units of a grain."""


def probe(objective: Objective, batch: BatchFile, path: str = "BATCH.json",
          siblings: int | None = None) -> dict[str, Any]:
    """Objective, loss, terms and per-token advantage, ratio, weight, correction and d loss/d logp_current.

    RecipeError RL204, RL205 where the batch lacks what the recipe reads, or is beyond double precision.
    """
    try:
        found = _probe(objective, batch, path, siblings)
    except OverflowError:
        raise _beyond(batch, path) from None
    if not _finite(found):
        raise _beyond(batch, path)
    return found


def _probe(objective: Objective, batch: BatchFile, path: str, siblings: int | None) -> dict[str, Any]:
    full = _columns(objective, batch, path)
    scored = [i for i, r in enumerate(batch.rows()) if batch.pairs or r.reward is not None]
    given = rewards(objective, full.select(scored))
    settled = settle(objective, _kept_groups(objective, given))
    update = weigh(objective, settled.batch)
    terms = {t.name: update.value(t.expr).data[0] for t in objective.terms()}
    if objective.value_target is not None:
        terms["value"] = _value_loss(update)
    total = sum(v for k, v in terms.items() if k != "value")
    rows = _responses(objective, len(batch.rows()), given, update)
    shown = {"pairs": _by_pair(rows)} if batch.pairs else {"responses": rows}
    after = merged(carry(objective, settled.statistics), carry(objective, update, late=True))
    state = {"state": after} if objective.state else {}
    return {"objective": total, "loss": -total, "terms": terms, "warnings": _warnings(batch, siblings),
            **shown, **state}


def _finite(x: Any) -> bool:
    match x:
        case float():
            return math.isfinite(x)
        case dict():
            return all(map(_finite, x.values()))
        case list():
            return all(map(_finite, x))
    return True


def _beyond(batch: BatchFile, path: str) -> RecipeError:
    place, x = largest(batch)
    shown = f"{x:g}" if isinstance(x, float) else f"a whole number of {len(str(abs(x)))} digits"
    return RecipeError([at("RL204", f"{path}: what follows from these numbers is beyond double precision; the largest "
                           f"is `{place}`, {shown}", None, why="infinity would be no result", fix="give smaller ones")])


def _columns(objective: Objective, batch: BatchFile, path: str) -> Batch:
    rows = batch.rows()
    _require(objective, batch, path)
    columns = {name: Value(TOKEN, [float(x) for r in rows for x in getattr(r, name)]) for name in PER_TOKEN
               if all(getattr(r, name) is not None for r in rows)}
    columns |= {name: Value(RESPONSE, [float(getattr(r, name)) for r in rows]) for name in PER_RESPONSE
                if all(getattr(r, name) is not None for r in rows)}
    columns |= {name: Value(TOKEN, [x for r in rows for x in r.divergences[name]]) for name in
                filter(is_divergence, objective.reads()) if all(name in (r.divergences or {}) for r in rows)}
    scores = [r.reward if r.reward is not None else 0.0 for r in rows]
    columns["scores"] = Value(RESPONSE, scores)
    correct = [s if r.correct is None else r.correct for s, r in zip(scores, rows, strict=True)]
    columns["correct"] = Value(RESPONSE, correct)
    columns |= {f"score.{s.label}": Value(RESPONSE, [r.scores[s.label] for r in rows]) for s in objective.scores
                if all(s.label in (r.scores or {}) for r in rows)}
    columns["truncated"] = Value(RESPONSE, [float(r.truncated) for r in rows])
    newest = max((v for r in rows for v in r.versions or [0]), default=0)
    trainer = newest if batch.trainer_version is None else batch.trainer_version
    if batch.logp_pretrain is not None:
        columns[PRETRAIN.name] = Value(UPDATE, [batch.logp_pretrain])
    columns["trainer_version"] = Value(UPDATE, [float(trainer)])
    extra: dict[str, Any] = {name: [getattr(r, name) for r in rows] for name in LABELS
                             if all(getattr(r, name) is not None for r in rows)}
    labels = {p: i for i, p in enumerate(dict.fromkeys(r.prompt for r in rows))}
    groups = [labels[r.prompt] for r in rows]
    if batch.pairs:
        groups = extra["pairs"] = [i // 2 for i in range(len(rows))]
        columns[CHOSEN.name] = Value(RESPONSE, [float(i % 2 == 0) for i in range(len(rows))])
    found = Batch.of([len(r.logp_current) for r in rows], groups, columns, PlainMath(), **extra)
    return with_state(objective, found, batch.state)


def _require(objective: Objective, batch: BatchFile, path: str) -> None:
    """Every quantity that a formula reads must be given for every response, and every state that is given be known."""
    rows, grains = batch.rows(), objective.grains()
    if (PAIR in grains) != bool(batch.pairs):
        needs, has = ("pairs", "responses") if PAIR in grains else ("responses", "pairs")
        raise RecipeError([at("RL205", f"{path} gives {has}, and the recipe's objective is over {needs}", None,
                              fix=f"give `{needs}`")])
    reads = objective.reads() - ({CHOSEN.name} if batch.pairs else set())
    wanted = [name for name in (*PER_TOKEN, *PER_RESPONSE) if name in reads]
    wanted += dict.fromkeys(label for grain, labels in MADE_OF.items() if grain in grains for label in labels)
    problems = [at("RL205", f"{path}: `{batch.place(i)}.{name}` is missing; the recipe's objective reads it", None,
                   fix=f"give `{name}`, one {'number' if name in PER_RESPONSE else 'entry per action token'}")
                for name in wanted for i, r in enumerate(rows) if getattr(r, name) is None]
    if PRETRAIN.name in reads and batch.logp_pretrain is None:
        problems.append(at("RL205", f"{path}: `{PRETRAIN.name}` is missing; the recipe's objective reads it", None,
                           fix="give it beside `responses`: one number for the update"))
    problems += [*_divergences(reads, batch, path), *_scores(objective, batch, path)]
    known = {(c.choice, c.name) for c in objective.state}
    problems += [at("RL205", f"{path}: nothing carries the state `{choice}.{name}`", None, fix="leave it out")
                 for choice, names in batch.state.items() for name in names if (choice, name) not in known]
    if problems:
        raise RecipeError(problems)


def _divergences(reads: frozenset[str], batch: BatchFile, path: str) -> Iterator[Diagnostic]:
    """`divergences` must name those that formulas read, and all of them."""
    read = set(filter(is_divergence, reads))
    for i, r in enumerate(batch.rows()):
        given = set(r.divergences or {})
        for name in sorted(given - read):
            yield at("RL205", f"{path}: `{batch.place(i)}.divergences.{name}`: the recipe's objective reads no such "
                     "divergence", None, fix=f"it reads {', '.join(sorted(read)) or 'none'}")
        for name in sorted(read - given):
            yield at("RL205", f"{path}: `{batch.place(i)}.divergences.{name}` is missing; the recipe's objective reads "
                     "it", None, fix="give it, one number per action token")


def _scores(objective: Objective, batch: BatchFile, path: str) -> Iterator[Diagnostic]:
    """`scores` must name sources of the recipe, and all of them where a formula reads them apart."""
    labels = [s.label for s in objective.scores]
    apart = {v.name for e in (objective.advantage, *(k.expr for k in objective.keeps)) for v in variables(e)}
    for i, r in enumerate(batch.rows()):
        for label in (r.scores or {}).keys() - set(labels):
            yield at("RL205", f"{path}: `{batch.place(i)}.scores.{label}`: the recipe has no source of that name", None,
                     fix=f"its sources are {', '.join(labels)}")
        for label in labels:
            if f"score.{label}" in apart and label not in (r.scores or {}):
                yield at("RL205", f"{path}: `{batch.place(i)}.scores.{label}` is missing; the advantage reads it apart",
                         None, fix="give `scores`, one number for each source")


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


def _responses(objective: Objective, rows: int, given: Batch, update: Batch) -> list[dict]:
    """One record per given response, in the given order. What is not in the loss has no weight and no gradient."""
    n = sum(update.lengths)
    ratio = update.value(objective.ratio, TOKEN).data if objective.ratio is not None else [1.0] * n
    columns = {"advantage": update.columns["advantage"].data, "ratio": ratio, "weight": update.columns["weight"].data,
               "correction": update.columns["correction"].data, "gradient": _gradient(objective, update)}
    reward = dict(zip(given.rows, given.columns["reward"].data, strict=True))
    out: list[dict] = [{"kept": False, "reward": reward.get(i)} for i in range(rows)]
    start = 0
    for row, length in zip(update.rows, update.lengths, strict=True):
        part = slice(start, start + length)
        out[row] = {"kept": True, "reward": reward[row], **{k: v[part] for k, v in columns.items()}}
        start += length
    return out


def _by_pair(rows: list[dict]) -> list[dict]:
    return [{"chosen": chosen, "rejected": rejected} for chosen, rejected in zip(rows[::2], rows[1::2], strict=True)]


def _warnings(batch: BatchFile, siblings: int | None) -> list[str]:
    sizes = Counter(r.prompt for r in batch.responses) if siblings is not None else {}
    return [*odd(batch), *(f"prompt {p!r} has {n} responses where the recipe samples {siblings}"
                           for p, n in sizes.items() if n != siblings)]
