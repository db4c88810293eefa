"""Nodes that make data: sample, score, filter, and the forwards that fix log-probs and values."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import islice
from typing import Any

from rldsl.algebra.evaluate import Value
from rldsl.algebra.expr import GROUP, RESPONSE, TOKEN, UPDATE, total
from rldsl.algebra.grain import variables
from rldsl.algebra.variables import (
    CHOSEN,
    CORRECT,
    ENTROPY,
    LOGP,
    LOGP_REF,
    LOGP_ROLLOUT,
    MISMATCHED,
    SCORES,
    TRAINER_VERSION,
    TRUNCATED,
    VALUE,
    VERSION,
)
from rldsl.axes.base import Scorer
from rldsl.compiler.graph import Node, grain_of
from rldsl.diagnostics import Diagnostic

from .asking import Candidate, ask
from .batch import Batch
from .errors import RunError
from .growth import cut_up, grow
from .metrics import LENGTH, REWARD
from .metrics import TRUNCATED as TRUNCATED_SHARE
from .metrics import UNSCORED as UNSCORED_SHARE
from .protocols import Cutting
from .run import Run
from .scoring import ScoreItem
from .settle import with_state
from .structure import Grown, Shape, State, Tools
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
    if node.options.get("stored"):
        version = run.rollout.version
        found = [t for group, draw in work.draws.items() for t in run.data.responses(group, draw.row, version)]
        grown = cut_up(node.options.get("shape", {}).get("cut"), found, run.data.decode)
    elif "shape" in node.options:
        grown = grow(Shape(**node.options["shape"]), requests, _tools(run, work, node))
    else:
        grown = Grown(_ask(run, work, node, requests))
    answered(run, work, grown.rows, grown.labels)
    if grown.states:
        work.probes = Work(work.batch, trajectories=grown.continuations, table=table_of(run, grown.continuations),
                           problems=work.problems, states=grown.states)
    if node.options["greedy"]:
        work.baseline = _greedy(run, work, node, requests)


def answered(run: Run, work: Work, found: list[Trajectory], labels: Mapping[str, Any] | None = None) -> None:
    """Takes the responses to the prompts in `work.draws` in, divided by `labels`, and counts them."""
    work.trajectories, work.table = found, table_of(run, found, labels)
    tokens = sum(len(t.tokens) for t in found)
    work.counts.update({RESPONSES: len(found), "groups/generated": len(work.draws), "tokens": tokens})
    work.tally.add(LENGTH.name, tokens, len(found))
    work.tally.add(TRUNCATED_SHARE.name, sum(t.truncated for t in found), len(found))


def _ask(run: Run, work: Work, node: Node, requests: Sequence[Request], *, policy: str = "current",
         max_tokens: int | None = None) -> list[Trajectory]:
    """Checked answers in the order of requests, then siblings."""
    options = sampling_options(node)
    if max_tokens is not None:
        options = replace(options, max_tokens=max_tokens)
    of = {} if policy == "current" else {"policy": policy}
    found = run.rollout.sample(requests, options, batch=work.batch, **of) if requests else []
    require_groups(requests, found)
    require_finite_logps(found)
    return found


def _tools(run: Run, work: Work, node: Node) -> Tools:
    """What growing responses needs of this run."""
    def judge(rows: Sequence[Trajectory]) -> list[float | None]:
        judged = Work(work.batch, trajectories=list(rows), table=table_of(run, rows), problems=work.problems)
        _add_scores(run, judged)
        numbers = run.trainer.math.numbers(judged.table.columns[SCORES.name].data)
        known = dict(zip(judged.table.rows, numbers, strict=True))
        return [known.get(i) for i in range(len(rows))]

    def entropy(rows: Sequence[Trajectory]) -> list[list[float]]:
        cut = Cutting(None, balance=False, share_prompts=True)
        found = run.trainer.logprobs("current", rows, [ENTROPY.name], cut)[ENTROPY.name] if rows else []
        each = iter(run.trainer.math.numbers(found) if rows else ())
        return [list(islice(each, len(t.tokens))) for t in rows]

    def chance(state: State) -> float:
        return random.Random(f"branch/{run.settings.seed}/{work.batch}/{state}").random()

    return Tools(partial(_ask, run, work, node), judge, run.data.decode, entropy, chance)


def _greedy(run: Run, work: Work, node: Node, requests: Sequence[Request]) -> Work:
    """One greedy response to each prompt."""
    asked = [replace(r, siblings=1) for r in requests]
    found = run.rollout.sample(asked, sampling_options(node), batch=work.batch, greedy=True)
    require_groups(asked, found)
    return Work(work.batch, trajectories=found, table=table_of(run, found), problems=work.problems)


def require_groups(requests: Sequence[Request], found: Sequence[Trajectory]) -> None:
    """RunError RL610 unless every request came back with its own siblings, prompt and number."""
    wanted = {(r.group, r.first + s): r.prompt for r in requests for s in range(r.siblings)}
    got = {(t.group, t.sibling): t.prompt for t in found}
    if got == wanted and len(found) == len(wanted):
        return
    sizes, asked = Counter(t.group for t in found), Counter(group for group, _ in wanted)
    wrong = [group for group in asked if sizes[group] != asked[group]]
    says = (f"group {wrong[0]} has {sizes[wrong[0]]} responses where {asked[wrong[0]]} were asked for"
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


def table_of(run: Run, found: Sequence[Trajectory], labels: Mapping[str, Any] | None = None) -> Batch:
    """The columns that sampling leaves behind, divided by `labels`; stored responses have a verdict where others have
    log-probs."""
    labels = labels or {}
    math, groups = run.trainer.math, [t.group for t in found]
    columns = {VERSION.name: Value(TOKEN, math.column([float(v) for t in found for v in t.versions])),
               TRUNCATED.name: Value(RESPONSE, math.column([float(t.truncated) for t in found])),
               TRAINER_VERSION.name: Value(UPDATE, math.column([float(run.rollout.version)]))}
    if any(t.verdict is None for t in found):
        columns[LOGP_ROLLOUT.name] = Value(TOKEN, math.column([x for t in found for x in t.logps]))
        return Batch.of([len(t.tokens) for t in found], groups, columns, math, **labels)
    columns[CHOSEN.name] = Value(RESPONSE, math.column([float(t.verdict) for t in found]))
    return Batch.of([len(t.tokens) for t in found], groups, columns, math, pairs=groups, **labels)


def score(run: Run, work: Work, node: Node) -> None:
    """Scores every response. One without a score leaves the batch, its statistics and its denominators."""
    before, rows = work.groups(), len(work.table.lengths)
    _add_scores(run, work)
    if work.baseline is not None:
        _add_scores(run, work.baseline)
        compared = set(work.baseline.groups())
        work.table = work.table.select([i for i, g in enumerate(work.table.groups) if g in compared])
    if work.probes is not None:
        _add_scores(run, work.probes)
        work.table = work.table.select(_with_values(work))
    scored = len(work.table.lengths)
    work.tally.add(UNSCORED_SHARE.name, rows - scored, rows)
    work.dropped(before, UNSCORED)
    for name, column in ((REWARD.name, SCORES.name), ("correct/mean", CORRECT.name)):
        if column in work.table.columns:
            work.tally.add(name, sum(run.trainer.math.numbers(work.table.columns[column].data)), scored)


def _with_values(work: Work) -> list[int]:
    """Positions of the responses each of whose states has a continuation with a score."""
    probes = work.probes
    scored = {state for i in probes.table.rows for state in probes.states[probes.trajectories[i].key]}
    lost = {state[:2] for states in probes.states.values() for state in states if state not in scored}
    return [i for i, t in enumerate(work.rows()) if t.key not in lost]


def _add_scores(run: Run, work: Work) -> None:
    """Columns of scores for the responses that have them all; the others are gone."""
    rows = work.rows()
    columns, scored = scores(run, work, rows)
    work.judged = {}
    table = work.table.with_columns(**columns)
    table = table.select(scored) if len(scored) < len(rows) else table
    o, found = run.objective, {}
    whole = with_state(o, table, run.progress.carried)
    if o.correct is not None:
        found[CORRECT.name] = whole.value(o.correct, RESPONSE)
    work.table = table.with_columns(**found, **{SCORES.name: whole.with_columns(**found).value(o.sources, RESPONSE)})


def scores(run: Run, work: Work, rows: Sequence[Trajectory]) -> tuple[dict[str, Value], list[int]]:
    """A column per feedback source, and per answer where responses hold several, and the positions of rows that have
    every score; what is missing counts as the objective says, else the row has no score."""
    found = _scored(run, work, rows)
    missing, column = run.objective.missing, run.trainer.math.column
    filled = [[(missing or 0.0) if score is None else score for score in row] for row in found]
    columns = {f"score.{s.label}": Value(RESPONSE, column([row[k] for row in filled]))
               for k, s in enumerate(run.objective.scores)}
    return columns, [i for i, row in enumerate(found) if missing is not None or None not in row]


def _scored(run: Run, work: Work, rows: Sequence[Trajectory]) -> list[list[float | None]]:
    """For each row what each of the objective's scores is; None where scoring failed."""
    number, delimiter = _several(run)
    programs = [s for s in run.objective.scores if isinstance(s.scorer, Scorer)]
    columns = dict(work.judged) or {n.options["label"]: said(run, work, rows, n) for n in run.graph.of("judge")}
    if programs:
        items = [ScoreItem(text, p.answer, p.metadata) for t in rows for p in [work.problems[t.group]]
                 for text in answers(t.text, number, delimiter)]
        results = run.score(items)
        for k, s in enumerate(programs):
            columns[s.label] = [results[i * number + k % number][k // number].value for i in range(len(rows))]
    return [[columns[s.label][i] for s in run.objective.scores] for i in range(len(rows))]


def _several(run: Run) -> tuple[int, str | None]:
    """Answers in a response, and the text between them."""
    cut = run.graph.of("sample")[0].options.get("answers")
    return (cut["number"], cut["delimiter"]) if cut else (1, None)


def judge(run: Run, work: Work, node: Node) -> None:
    """Has a model score every response."""
    work.judged[node.options["label"]] = said(run, work, work.rows(), node)


def said(run: Run, work: Work, rows: Sequence[Trajectory], node: Node) -> list[float | None]:
    """What the model of a judge node says of each row; None where it can say nothing."""
    number, delimiter = _several(run)
    (wanted,) = (s for s in run.objective.scores if s.label == node.options["label"])
    found = []
    for t in rows:
        problem, part = work.problems[t.group], answers(t.text, number, delimiter)[wanted.part or 0]
        found.append(Candidate(problem.prompt, part, problem.answer, len(t.tokens), t.group))
    return ask(run.trainer, wanted.scorer, found, cutting(node))


def answers(text: str, number: int, delimiter: str | None) -> list[str]:
    """The first `number` answers of a response; one that is not there repeats the first."""
    found = text.split(delimiter)[:number] if delimiter is not None else [text]
    return found + [found[0]] * (number - len(found))


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
    """Quantities under a named policy, computed by the trainer; also of what is only scored, where rewards read it."""
    _add_logprobs(run, work, node)
    read = {v.name for v in variables(run.objective.reward)} & set(node.options["wants"])
    for other in (work.baseline, work.probes) if read else ():
        if other is not None:
            _add_logprobs(run, other, node)


def _add_logprobs(run: Run, work: Work, node: Node) -> None:
    rows, wants = work.rows(), node.options["wants"]
    none = {name: run.trainer.math.column([]) for name in wants}
    if wants == [MISMATCHED.name]:
        work.table = work.table.with_columns(**{MISMATCHED.name: _mismatched(run, rows, cutting(node))})
        return
    found = run.trainer.logprobs(node.options["policy"], rows, wants, cutting(node)) if rows else none
    work.table = work.table.with_columns(**{name: Value(grain_of(name), column) for name, column in found.items()})


def _mismatched(run: Run, rows: Sequence[Trajectory], cut: Cutting) -> Value:
    """Σ (log π − log π_ref) of another prompt's response under each row's prompt; 0 where there is no other prompt."""
    math = run.trainer.math
    others = [next((r for r in (*rows[i + 1:], *rows[:i]) if r.prompt != row.prompt), None)
              for i, row in enumerate(rows)]
    made = [replace(row, tokens=o.tokens, logps=o.logps, versions=o.versions)
            for row, o in zip(rows, others, strict=True) if o is not None]
    if not made:
        return Value(RESPONSE, math.column([0.0] * len(rows)))
    columns = {name: Value(TOKEN, run.trainer.logprobs(policy, made, [name], cut)[name])
               for policy, name in (("current", LOGP.name), ("ref", LOGP_REF.name))}
    batch = Batch.of([len(r.tokens) for r in made], range(len(made)), columns, math)
    found = iter(math.numbers(batch.value(total(LOGP - LOGP_REF, RESPONSE)).data))
    return Value(RESPONSE, math.column([0.0 if o is None else next(found) for o in others]))


def value(run: Run, work: Work, node: Node) -> None:
    """The critic's values, as they are before the batch is trained."""
    rows = work.rows()
    found = run.trainer.values(rows, cutting(node)) if rows else run.trainer.math.column([])
    work.table = work.table.with_columns(**{VALUE.name: Value(TOKEN, found)})
