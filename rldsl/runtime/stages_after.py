"""Nodes that follow a trained batch: publish the weights, evaluate them on held-out problems, keep them."""

from __future__ import annotations

from rldsl.algebra.expr import RESPONSE
from rldsl.compiler.graph import REFERENCE_WEIGHTS, Node
from rldsl.diagnostics import Diagnostic

from . import checkpoint as checkpoints
from .errors import RunError
from .metrics import HELD_OUT, UNTRAINED
from .run import Run
from .settle import with_state
from .stages_data import require_groups, sampling_options, scores, table_of
from .tally import Tally
from .trajectory import Request
from .work import Work


def publish(run: Run, work: Work, node: Node) -> None:
    """Makes the trained weights the ones that sample. RunError RL602 where that changed nothing."""
    found = (run.push or run.trainer.publish)()
    means = work.tally.means()
    moved = means.get("grad_norm", 0.0) > 0 and means.get("lr", 0.0) > 0
    if moved and found == run.fingerprint:
        raise RunError(Diagnostic(
            "RL602", f"version {run.rollout.version} has the same weights as the one before it",
            why=f"the gradient norm was {means['grad_norm']:g}, so the step was lost on the way",
            fix="a learning rate too small for the weights' precision does this; raise it"))
    run.fingerprint = found


def evaluate(run: Run, work: Work, node: Node) -> None:
    """Scores answers to held-out problems, every so many batches and after the last: greedy where each problem is
    answered once, else sampled as in training."""
    done = run.progress.batch
    if done % node.options["every"] == 0 or done >= run.settings.steps:
        run.progress.held_out = held_out(run, node, done)
        run.record("evaluate", step=done, metrics=run.progress.held_out)


def untrained(run: Run) -> None:
    """Records the held-out score of a policy that knows nothing yet, where the recipe evaluates at all."""
    for node in run.graph.of("evaluate"):
        run.record("evaluate", step=0, metrics={UNTRAINED.name: held_out(run, node, 0)[HELD_OUT.name]})


def held_out(run: Run, node: Node, done: int) -> dict[str, float]:
    """The mean score on the held-out problems of all tasks and of each, by weights that `done` batches have trained."""
    options = sampling_options(run.graph.of("sample")[0])
    tally = Tally()
    for task in node.options["tasks"]:
        name, samples = task["name"], task["samples"]
        data = run.held_out[name]
        requests = [Request(row, row, data.tokens(row), samples) for row in range(len(data))]
        found = run.rollout.sample(requests, options, batch=-1 - done, greedy=samples == 1)
        require_groups(requests, found)
        judged = Work(done, trajectories=found, table=table_of(run, found),
                      problems={row: data.problem(row) for row in range(len(data))})
        _judge(run, judged, name, tally)
    return tally.means()


def _judge(run: Run, work: Work, name: str, tally: Tally) -> None:
    columns, scored = scores(run, work, work.rows())
    o = run.objective
    table = with_state(o, work.table.with_columns(**columns).select(scored), run.progress.carried)
    numbers = table.math.numbers(table.value(o.sources if o.correct is None else o.correct, RESPONSE).data)
    tally.add("held_out/unscored", len(work.trajectories) - len(scored), len(work.trajectories))
    tally.add(HELD_OUT.name, sum(numbers), len(numbers))
    tally.add(f"held_out/{name}", sum(numbers), len(numbers))


def checkpoint(run: Run, work: Work, node: Node) -> None:
    """Keeps everything a resume needs, every so many batches and after the last."""
    done = run.progress.batch
    if done % node.options["every"] == 0 or done == run.settings.steps:
        keep(run)


def keep(run: Run) -> None:
    """Writes a checkpoint of the run as it stands now. The first stays where it is the reference policy."""
    run.journal.sync()
    state = {"progress": run.progress.to_json(), "version": run.rollout.version, "fingerprint": run.fingerprint}
    pinned = 0 if run.graph.readers(REFERENCE_WEIGHTS) else None
    checkpoints.save(run.checkpoints, run.progress.batch, state, run.trainer.save, pinned=pinned)
    run.record("checkpoint", step=run.progress.batch)
