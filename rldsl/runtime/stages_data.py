"""Nodes that make data: sample, score, filter, and the forwards that fix log-probs and values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields

from rldsl.algebra.evaluate import Value
from rldsl.algebra.expr import GROUP, RESPONSE, TOKEN, UPDATE
from rldsl.algebra.variables import CORRECT, LOGP_ROLLOUT, SCORES, TRAINER_VERSION, TRUNCATED, VALUE, VERSION
from rldsl.compiler.graph import Node
from rldsl.diagnostics import Diagnostic

from .batch import Batch
from .errors import RunError
from .metrics import LENGTH, REWARD
from .metrics import TRUNCATED as TRUNCATED_SHARE
from .metrics import UNSCORED as UNSCORED_SHARE
from .protocols import Cutting
from .run import Run
from .scoring import ScoreItem
from .trajectory import Request, SamplingOptions, Trajectory
from .work import FILTERED, RESPONSES, UNSCORED, Work

OPTION_NAMES = tuple(f.name for f in fields(SamplingOptions))


def sampling_options(node: Node) -> SamplingOptions:
    """The sampler's part of a `sample` node's options."""
    given = {name: node.options[name] for name in OPTION_NAMES if name in node.options}
    return SamplingOptions(**{**given, "stop": tuple(given.get("stop", ()))})


def cutting(node: Node) -> Cutting:
    """How a training-side node says its rows are cut."""
    return Cutting(node.options["micro_tokens"], node.options["balance"], node.options["share_prompts"])


def sample(run: Run, work: Work, node: Node) -> None:
    """Draws `work.wanted` prompts and has each answered by the declared number of siblings."""
    run.progress.ledger, draws = run.progress.ledger.take(work.wanted)
    first, siblings = run.progress.groups, node.options["siblings"]
    run.progress.groups += len(draws)
    work.draws = {first + i: draw for i, draw in enumerate(draws)}
    work.problems = {group: run.data.problem(draw.row) for group, draw in work.draws.items()}
    requests = [Request(group, work.draws[group].row, run.data.encode(problem.prompt), siblings)
                for group, problem in work.problems.items()]
    found = run.rollout.sample(requests, sampling_options(node), batch=work.batch)
    require_groups(requests, found)
    require_finite_logps(found)
    work.trajectories, work.table = found, table_of(run, found)
    tokens = sum(len(t.tokens) for t in found)
    work.counts.update({RESPONSES: len(found), "groups/generated": len(draws), "tokens": tokens})
    work.tally.add(LENGTH.name, tokens, len(found))
    work.tally.add(TRUNCATED_SHARE.name, sum(t.truncated for t in found), len(found))


def require_groups(requests: Sequence[Request], found: Sequence[Trajectory]) -> None:
    """RunError RL610 unless every request came back with its own siblings, prompt and number."""
    wanted = {(r.group, s): r.prompt for r in requests for s in range(r.siblings)}
    got = {(t.group, t.sibling): t.prompt for t in found}
    if got == wanted and len(found) == len(wanted):
        return
    sizes = Counter(t.group for t in found)
    wrong = [r for r in requests if sizes[r.group] != r.siblings]
    says = (f"group {wrong[0].group} has {sizes[wrong[0].group]} responses where {wrong[0].siblings} were asked for"
            if wrong else "responses came back attached to other prompts or siblings")
    raise RunError(Diagnostic("RL610", says, why="group statistics over the wrong rows train on noise",
                              fix="this is a defect of the rollout engine; report it with the journal"))


def require_finite_logps(found: Sequence[Trajectory]) -> None:
    """RunError RL601 where the sampler gave a token a probability that is no number."""
    bad = [t for t in found if not math.isfinite(sum(t.logps))]
    if bad:
        raise RunError(Diagnostic(
            "RL601", f"the log-prob of a sampled token is not finite in {len(bad)} of {len(found)} responses "
            "(stage: sample)", why=f"responses {', '.join(f'{t.group}.{t.sibling}' for t in bad[:8])}: their tokens "
            "were drawn from nothing; no optimizer step was taken",
            fix="the weights that sampled hold numbers that are not finite: start from a sound model"))


def table_of(run: Run, found: Sequence[Trajectory]) -> Batch:
    """The columns that sampling leaves behind."""
    math = run.trainer.math
    columns = {LOGP_ROLLOUT.name: Value(TOKEN, math.column([x for t in found for x in t.logps])),
               VERSION.name: Value(TOKEN, math.column([float(v) for t in found for v in t.versions])),
               TRUNCATED.name: Value(RESPONSE, math.column([float(t.truncated) for t in found])),
               TRAINER_VERSION.name: Value(UPDATE, math.column([float(run.rollout.version)]))}
    return Batch.of([len(t.tokens) for t in found], [t.group for t in found], columns, math)


def score(run: Run, work: Work, node: Node) -> None:
    """Scores every response. One without a score leaves the batch, its statistics and its denominators."""
    rows, before = work.rows(), work.groups()
    columns, scored = scores(run, work, rows)
    work.tally.add(UNSCORED_SHARE.name, len(rows) - len(scored), len(rows))
    work.table = work.table.with_columns(**columns)
    if len(scored) < len(rows):
        work.table = work.table.select(scored)
    work.dropped(before, UNSCORED)
    o = run.objective
    total = work.table.value(o.sources, RESPONSE)
    work.table = work.table.with_columns(**{SCORES.name: total})
    work.tally.add(REWARD.name, sum(run.trainer.math.numbers(total.data)), len(scored))
    if o.correct is not None:
        correct = work.table.value(o.correct, RESPONSE)
        work.table = work.table.with_columns(**{CORRECT.name: correct})
        work.tally.add("correct/mean", sum(run.trainer.math.numbers(correct.data)), len(scored))


def scores(run: Run, work: Work, rows: Sequence[Trajectory]) -> tuple[dict[str, Value], list[int]]:
    """A column per feedback source, 0 where there is no score, and the positions of rows that have every score."""
    labels = [s.label for s in run.objective.scores]
    problems = [work.problems[t.group] for t in rows]
    items = [ScoreItem(t.text, p.answer, p.metadata) for t, p in zip(rows, problems, strict=True)]
    results = run.score(items) if labels else [()] * len(items)
    column = run.trainer.math.column
    columns = {f"score.{label}": Value(RESPONSE, column([r[k].value or 0.0 for r in results]))
               for k, label in enumerate(labels)}
    return columns, [i for i, r in enumerate(results) if all(s.value is not None for s in r)]


def filter_groups(run: Run, work: Work, node: Node) -> None:
    """Keeps or drops whole groups."""
    before, table = work.groups(), work.table
    keeps = Value(GROUP, table.value(run.objective.keeps[node.options["index"]].expr, GROUP).data)
    stays = table.math.numbers(table.math.spread(keeps, table.shape, RESPONSE))
    if CORRECT.name in table.columns:
        _count_dropped(work, stays)
    work.table = table.select([i for i, s in enumerate(stays) if s])
    work.dropped(before, FILTERED)


def _count_dropped(work: Work, stays: Sequence[float]) -> None:
    """How many dropped groups had only answers without success, and how many only successes."""
    best: dict[int, list[float]] = {}
    correct = work.table.math.numbers(work.table.columns[CORRECT.name].data)
    for group, c, s in zip(work.table.groups, correct, stays, strict=True):
        if not s:
            best.setdefault(group, []).append(c)
    work.counts.update({"groups/all_failed": sum(max(c) <= 0 for c in best.values()),
                        "groups/all_passed": sum(min(c) > 0 for c in best.values())})


def logprob(run: Run, work: Work, node: Node) -> None:
    """Quantities under a named policy, computed by the trainer."""
    rows, wants = work.rows(), node.options["wants"]
    none = {name: run.trainer.math.column([]) for name in wants}
    found = run.trainer.logprobs(node.options["policy"], rows, wants, cutting(node)) if rows else none
    work.table = work.table.with_columns(**{name: Value(TOKEN, column) for name, column in found.items()})


def value(run: Run, work: Work, node: Node) -> None:
    """The critic's values, as they are before the batch is trained."""
    rows = work.rows()
    found = run.trainer.values(rows, cutting(node)) if rows else run.trainer.math.column([])
    work.table = work.table.with_columns(**{VALUE.name: Value(TOKEN, found)})
