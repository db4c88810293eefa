"""Prints metrics.md from the program's own list of metrics: `python docs/metrics.py > docs/metrics.md`."""

from __future__ import annotations

from collections.abc import Iterable

from rldsl.runtime.metrics import DETAILS, FAMILIES, STANDARD, Metric

HEAD = """# Metrics

Every number that a run reports, with what is measured and over what. The journal (`journal.jsonl` in the run's folder),
MLflow, the live view and `report.html` use these names. Numbers are raw: ratios before the gate, gradient norms before
clipping, scores before shaping unless a definition says otherwise. A metric is absent from a step in which it has no
value: without a critic, a filter or an evaluation there is nothing to report about them.

*The batch* is all responses that were sampled, *scored responses* are those with every score, and *the statistics* are
the responses that the advantage is taken over. *Computed tokens* are those of the responses that go through the
update's forward; responses whose contribution is exactly zero may skip it. [Batches, updates, steps](semantics.md) says
who leaves when.

This page is printed by `docs/metrics.py`.
"""
PARTS = (("Standard", STANDARD, "Shown in reports and, where they fit, in the live view."),
         ("Details", DETAILS, "Reported where the recipe has what they measure."))
FAMILY_TEXT = "Names that continue with the run's own: a task, a choice, a term of the objective, a kind of graph node."


def table(metrics: Iterable[Metric], more: str = "") -> list[str]:
    """A row per metric; shares lie between 0 and 1."""
    rows = [f"| `{m.name}{more}` | {cell(m.title)} | {m.style} | {cell(m.definition)} |" for m in metrics]
    return ["| name | shown as | kind | definition |", "| --- | --- | --- | --- |", *rows]


def cell(text: str) -> str:
    """Text that may stand in a table."""
    return text.replace("|", r"\|")


def page() -> str:
    """The whole page."""
    lines = [HEAD]
    for title, metrics, text in PARTS:
        lines += [f"## {title}", "", text, "", *table(metrics), ""]
    lines += ["## Families", "", FAMILY_TEXT, "", *table(FAMILIES.values(), "…")]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
