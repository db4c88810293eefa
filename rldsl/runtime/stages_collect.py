"""The node that keeps verified responses as a data set, for a later stage to learn from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from rldsl.algebra.variables import CORRECT, SCORES
from rldsl.compiler.graph import Node
from rldsl.diagnostics import Diagnostic

from .errors import RunError
from .run import Run
from .work import Work

COLLECTED, PARTS = "responses.jsonl", "responses"
"""The data set, and the folder of its parts: one file a batch, written anew where a resume comes to it again."""
COUNT = "responses/collected"


def collect(run: Run, work: Work, node: Node) -> None:
    """Writes down the responses of the batch that passed, and after the last batch all of them as one file.

    A response passes where its correctness (without such a term, its score) is above 0 and it was not cut. Of equal
    responses to one prompt one is kept, in the order of siblings, at most `most`. RunError RL618 where none passed.
    """
    rows = list(_passed(run, work, node.options["most"]))
    folder = run.folder / PARTS
    folder.mkdir(exist_ok=True)
    _write(folder / f"batch-{work.batch:06d}.jsonl", rows)
    work.counts[COUNT] = len(rows)
    if work.batch + 1 == run.settings.steps:
        parts = sorted(folder.glob("batch-*.jsonl"))
        every = list(dict.fromkeys(line for f in parts for line in f.read_text(encoding="utf-8").splitlines()))
        if not every:
            raise RunError(Diagnostic("RL618", f"no response of {len(parts)} batches passed, so there is no data set",
                                      why="a stage that is to learn from it would have nothing to learn",
                                      fix="start from a better policy, sample more, or choose easier prompts"))
        _write(run.folder / COLLECTED, every)
        run.record("artifact", path=COLLECTED)


def _passed(run: Run, work: Work, most: int) -> Iterator[str]:
    """One line a response: the columns of its problem, the response, and that it is a good one."""
    table = work.table
    column = table.columns[CORRECT.name if CORRECT.name in table.columns else SCORES.name]
    kept: dict[int, set[str]] = {}
    for t, score in zip(work.rows(), run.trainer.math.numbers(column.data), strict=True):
        own = kept.setdefault(t.group, set())
        if score > 0 and not t.truncated and t.text and t.text not in own and len(own) < most:
            own.add(t.text)
            problem = work.problems[t.group]
            yield json.dumps({"prompt": problem.prompt, "answer": problem.answer, **problem.metadata,
                              "response": t.text, "label": True}, ensure_ascii=False, sort_keys=True)


def _write(path: Path, lines: list[str]) -> None:
    """All or nothing."""
    half = path.with_suffix(".tmp")
    half.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    half.replace(path)
