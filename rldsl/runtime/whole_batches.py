"""What a recipe may ask of sampling that responses, coming one by one, cannot give."""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.expr import UPDATE
from rldsl.algebra.grain import grains
from rldsl.diagnostics import Diagnostic

from .errors import RunError
from .executor import phases
from .protocols import StreamingRollout
from .run import Run

DATA = ("sample", "judge", "score", "filter")


def refuse(run: Run, stream: StreamingRollout) -> None:
    """RunError RL406 for a run whose nodes or schedule need more than an event loop over a streaming engine has."""
    found = list(_needs(run, stream))
    if found:
        raise RunError(Diagnostic(
            "RL406", f"responses that come one by one cannot serve this run: {'; '.join(found)}",
            why="prompts are scored and filtered each as it is complete, and trained with whatever weights sampled it",
            fix="sample and train in turn, or leave that out of the recipe"))


def _needs(run: Run, stream: StreamingRollout) -> Iterator[str]:
    options = run.graph.of("sample")[0].options
    if options.get("stored"):
        yield "the responses are stored, nothing is sampled"
    if "shape" in options:
        yield "responses are cut into steps, or share their beginnings"
    if options["greedy"]:
        yield "each prompt is answered once more, greedily"
    if options["draws"] != 1:
        yield "more prompts are drawn than a batch has"
    yield from (f"{n.id} is computed before a filter" for n in phases(run.graph)[0] if n.kind not in DATA)
    for node in run.graph.of("filter"):
        if UPDATE in grains(run.objective.keeps[node.options["index"]].expr):
            yield f"{node.options['stage']} compares the prompts of a batch"
    if run.schedule.keeps_state() and not stream.keeps:
        yield "what is stopped is to go on from the engine's own state"
    if run.terms.versions > stream.serves:
        yield f"{run.terms.versions} versions are to be served at once"
