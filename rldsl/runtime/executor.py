"""Walks the plan's graph, batch after batch, in the order its schedule decides. It runs nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from rldsl.axes.control import Action, Event
from rldsl.compiler.graph import Graph, Node
from rldsl.diagnostics import Diagnostic

from . import stages_after, stages_collect, stages_data, stages_train
from .control import follow
from .errors import RunError
from .folder import write_text
from .health import watch
from .metrics import STEP_SECONDS, TOKENS_PER_SECOND
from .run import Run
from .stages_data import sampling_options
from .trace_html import page
from .traces import FOLDER as TRACES
from .traces import traces
from .work import RESPONSES, SAMPLED, Work

Handler = Callable[[Run, Work, Node], None]

HANDLERS: dict[str, Handler] = {
    "sample": stages_data.sample, "judge": stages_data.judge, "score": stages_data.score,
    "filter": stages_data.filter_groups, "collect": stages_collect.collect, "logprob": stages_data.logprob,
    "value": stages_data.value, "advantage": stages_train.advantage, "update": stages_train.update,
    "carry": stages_train.carry_on, "publish": stages_after.publish, "evaluate": stages_after.evaluate,
    "checkpoint": stages_after.checkpoint,
}
DATA, AFTER = ("sample", "judge", "score", "filter"), ("publish", "evaluate", "checkpoint")


def phases(graph: Graph) -> tuple[Sequence[Node], Sequence[Node], Sequence[Node]]:
    """The nodes that make a batch, those that train it, and those that follow, in the graph's order."""
    last = max((i for i, n in enumerate(graph.nodes) if n.kind in DATA), default=-1)
    rest = graph.nodes[last + 1:]
    return graph.nodes[:last + 1], [n for n in rest if n.kind not in AFTER], [n for n in rest if n.kind in AFTER]


def execute(run: Run) -> None:
    """Trains from where `run.progress` stands to the last batch. RunError where it cannot go on."""
    make, train, after = phases(run.graph)
    made: list[Work] = []

    def launch(action: Action) -> Iterator[Event]:
        made.append(make_batch(run, make, run.progress.batch))
        return told(made[-1].groups(), action.prompts, run.terms.siblings)

    def trained(action: Action) -> Iterator[Event]:
        before = run.progress.updates
        walk(run, made[-1], train)
        run.progress.batch += 1
        report(run, made[-1])
        yield Event("updated", updates=run.progress.updates - before)

    def published(action: Action) -> Iterator[Event]:
        walk(run, made.pop(), after)
        yield Event("published")

    if run.fresh:
        walk(run, Work(0), [n for n in after if n.kind in ("evaluate", "checkpoint")])
    perform = {"launch": launch, "train": trained, "publish": published}
    follow(run.schedule, run.terms.start(run.progress.batch), perform,
           lambda state: setattr(run.progress, "schedule", state))


def told(groups: Sequence[int], wanted: int, siblings: int) -> Iterator[Event]:
    """What a schedule hears of a batch that was made in one go: of every group in it, and that the others do not
    come."""
    for group in groups:
        yield from (Event("finished", group=group) for _ in range(siblings))
        yield Event("ready", group=group)
    if len(groups) < wanted:
        yield Event("exhausted")
    for _ in range(wanted - len(groups)):
        yield from (Event("retired") for _ in range(siblings))
        yield Event("dropped")


def walk(run: Run, work: Work, nodes: Sequence[Node]) -> None:
    """Runs nodes in order."""
    for node in nodes:
        run.observe("doing", {"node": node.id, "batch": work.batch})
        with work.timed(node.kind):
            HANDLERS[node.kind](run, work, node)


def make_batch(run: Run, nodes: Sequence[Node], batch: int) -> Work:
    """Rounds of sampling until the batch has its prompts. Groups beyond that give their prompts back."""
    work, prompts, rounds = Work(batch), run.settings.prompts, 0
    filters = [n for n in nodes if n.kind == "filter"]
    draws = run.graph.of("sample")[0].options["draws"]
    bound = min((n.options["max_rounds"] for n in filters if n.options["max_rounds"] is not None), default=None)
    while True:
        part = Work(batch, wanted=math.ceil(draws * _wanted(work, prompts)))
        walk(run, part, nodes)
        rounds += 1
        _return_surplus(run, part, prompts - len(work.groups()))
        work.include(part)
        work.counts["groups/rounds"] = rounds
        if not filters or len(work.groups()) == prompts:
            return work
        if rounds == bound:
            exhausted(work, filters, prompts)
            return work


def _wanted(work: Work, prompts: int) -> int:
    """Prompts for the next round: what is missing over the share that was kept so far, at most a whole batch."""
    missing, seen = prompts - len(work.groups()), work.counts["groups/generated"]
    kept = max(len(work.groups()), 1) / seen if seen else 1.0
    return min(prompts, math.ceil(missing / kept))


def _return_surplus(run: Run, part: Work, missing: int) -> None:
    surplus = part.groups()[missing:]
    if surplus:
        run.progress.ledger = run.progress.ledger.give_back(part.draws[g] for g in surplus)
        gone = set(surplus)
        part.table = part.table.select([i for i, g in enumerate(part.table.groups) if g not in gone])
        part.draws = {g: d for g, d in part.draws.items() if g not in gone}


def exhausted(work: Work, filters: Sequence[Node], prompts: int) -> None:
    """RunError RL611 where a filter says that a short batch is an error."""
    strict = next((n for n in filters if n.options["exhausted"] == "error"), None)
    if strict is None:
        return
    seen, kept, counts = work.counts["groups/generated"], len(work.groups()), work.counts
    dropped = max(1, seen - kept)
    raise RunError(Diagnostic(
        "RL611", f"{kept} of {seen} groups kept in {counts['groups/rounds']} rounds, {prompts} are needed",
        why=f"of the dropped groups {counts['groups/all_failed'] / dropped:.0%} failed throughout and "
            f"{counts['groups/all_passed'] / dropped:.0%} passed throughout",
        fix="choose easier or harder prompts, raise max_rounds, or write exhausted: short_batch"))


def report(run: Run, work: Work, elapsed: float | None = None) -> None:
    """Writes the step's event: its metrics, and what became of every prompt. The step took `elapsed` seconds, or the
    sum of its nodes where they ran one after another."""
    counts = {name: float(n) for name, n in work.counts.items() if name != RESPONSES}
    seconds = sum(work.seconds.values()) if elapsed is None else elapsed
    spent = {f"seconds/{kind}": s for kind, s in work.seconds.items()}
    metrics = {**work.tally.means(), **counts, "updates": float(run.progress.updates), STEP_SECONDS.name: seconds,
               TOKENS_PER_SECOND.name: work.counts["tokens"] / seconds, **spent}
    prompts = [[*draw, work.fates.get(group, SAMPLED)] for group, draw in work.draws.items()]
    run.record("step", step=run.progress.batch, metrics=metrics, prompts=prompts, version=run.rollout.version)
    if used := run.usage.measure(run.folder):
        run.record("system", step=run.progress.batch, metrics=used)
        for growing in run.usage.grown(used):
            run.warn(growing)
    found = look(run, metrics)
    show(run, work, found)
    for d in found:
        if d.severity == "warning":
            run.warn(d)
    if stops := [d for d in found if d.severity == "error"]:
        raise RunError(stops[0])


def look(run: Run, metrics: Mapping[str, float]) -> list[Diagnostic]:
    """What the detectors find: errors where the run is to stop."""
    limit = sampling_options(run.graph.of("sample")[0]).max_tokens
    known = {**run.progress.held_out, **metrics}
    run.progress.held_out = {}
    run.progress.health, found = watch(run.detectors, run.progress.health, known, limit)
    return found


def show(run: Run, work: Work, found: Sequence[Diagnostic]) -> None:
    """Writes a few responses as a page, where one is due or a detector has found something."""
    done, tracing = run.progress.batch, run.tracing
    if tracing is None or not (found or tracing.due(done, run.settings.steps)):
        return
    if few := traces(work, tracing):
        text = page(run.folder.name, done, few, [d.message for d in found])
        path = f"{TRACES}/batch-{done:06d}.html"
        write_text(run.folder / path, text)
        run.record("artifact", path=path)
