"""What a comparison rests on, and what it does not allow to conclude."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from rldsl.compiler.diff import diff
from rldsl.compiler.show import show_data
from rldsl.runtime.metrics import metric as metric_of

from .comparison import NO, SAME, UNKNOWN, YES, Comparison, Row, compared
from .expansion import ABLATION, INVALID
from .statistics import CONFIDENCE


def evidence(c: Comparison) -> list[tuple[str, str]]:
    """The conditions that all rows share, as (what, how much)."""
    e = c.expansion
    recipe = c.recipes[e.reference]
    s = recipe["settings"]
    runs = len({e.point(row.point).experiments[str(seed)] for row in c.rows() for seed in row.values})
    budget = f"{s['budget']['steps']} batches of {s['data']['prompts']} prompts"
    tasks = ", ".join(t["task"] for t in s["evaluate"]["tasks"])
    judged = (f"{tasks}: {s['evaluate']['problems']} problems, {s['evaluate']['samples']} samples each, after the last "
              "batch" if tasks else "none")
    made = "ablation" if e.kind == ABLATION else "sweep"
    searched = [("search", f"{show_data(e.search)}; rows are the points that have runs")] if e.search else []
    measured = metric_of(c.metric).definition or "the run’s own"
    return [(made, f"{e.name}: {e.of}"), *searched, ("metric", f"{c.metric}: {measured}"),
            ("baseline", e.point(e.reference).label), ("model", str(s["model"]["policy"])),
            ("data", str(s["data"]["train"])), ("budget of the baseline", budget), ("evaluation", judged),
            ("seeds", f"{len(e.seeds)}, the same for every row: {', '.join(map(str, e.seeds))}"),
            ("runs", str(runs)),
            ("intervals", f"{CONFIDENCE:.0%}, Student t over seeds; differences paired by seed"),
            ("tests", f"two-sided paired t-test, Holm over {_comparisons(c)} comparisons")]


def _comparisons(c: Comparison) -> int:
    return len({compared(r, c.expansion) for r in c.rows() if r.adjusted is not None})


def limits(c: Comparison) -> list[str]:
    """Sentences, each about these numbers."""
    return [*_noise(c), *_scope(c), *_design(c), *_holes(c)]


def _noise(c: Comparison) -> Iterator[str]:
    rows, n = [r for r in c.rows() if r.difference], len(c.expansion.seeds)
    if n < 2:
        yield "One seed: nothing here can be told from noise. Run with --seeds 3 or more."
        return
    halves = [r.difference.half for r in rows if r.difference.half]
    if halves:
        yield (f"With {n} seeds the interval of a difference is typically ±{median(halves):.3f}: "
               "smaller effects are not excluded by a row that is not distinguishable.")
    for verdict, says in ((NO, "No effect, in either direction, is shown for: {}."),
                          (UNKNOWN, "No test is possible, without spread between seeds or with too few runs, for: {}."),
                          (SAME, "Every seed gives exactly the same score, so nothing is learned here about: {}.")):
        names = list(dict.fromkeys(r.label for r in rows if r.verdict == verdict))
        if names:
            yield says.format(", ".join(names))
    if rows and not any(r.verdict == YES for r in rows):
        yield "No row is distinguishable from noise: this table supports no claim that one of them is better."


def _scope(c: Comparison) -> Iterator[str]:
    s = c.recipes[c.expansion.reference]["settings"]
    yield (f"The effects are those at {s['model']['policy']}, {s['data']['train']} and {s['budget']['steps']} batches; "
           "another model, task or length of training may order the rows differently.")
    generated = [r.generated for r in c.rows() if r.values]
    if generated and max(generated) > 1.1 * min(generated):
        yield (f"Rows are compared at equal batches, not at equal cost: they generated between "
               f"{min(generated):,.0f} and {max(generated):,.0f} tokens a run.")


def _design(c: Comparison) -> Iterator[str]:
    e = c.expansion
    if e.kind != ABLATION:
        ready = sum(r.score is not None for r in c.rows())
        if ready > 2:
            yield (f"The best of {ready} points was chosen by the score it is shown with, which is therefore too good: "
                   "run it again with other seeds before quoting it.")
        return
    if c.attribution is None:
        yield ("The gain of a change depends on those made before it: another order divides the whole differently "
               "(--order all runs them all).")
    yield from _skipped(c)
    for place, number in _bundles(c):
        yield f"{place} changes {number} things at once; its row cannot say which of them did it."


def _skipped(c: Comparison) -> Iterator[str]:
    """Rows of the path whose difference jumps over rows without a score."""
    path = c.sections[0].rows
    for i, row in enumerate(path[1:], 1):
        if row.other and row.score and row.other != path[i - 1].point:
            before = next(k for k, r in enumerate(path) if r.point == row.other)
            yield (f"{row.label} is compared with {row.against}, because the rows between have no score: its "
                   f"difference is that of {', '.join(c.expansion.order[before:i])} together.")


def _bundles(c: Comparison) -> Iterator[tuple[str, int]]:
    singles = {p.changed[0]: p.id for p in c.expansion.points if len(p.changed) == 1}
    path = c.sections[0].rows
    for place, before, row in zip(c.expansion.order, path, path[1:], strict=False):
        old, new = c.recipes.get(before.point), c.recipes.get(row.point)
        if old is None or new is None:
            old, new = c.recipes.get(c.expansion.points[0].id), c.recipes.get(singles.get(place, ""))
        number = len(diff(old, new)) if old and new else 0
        if number > 1:
            yield place, number


def _holes(c: Comparison) -> Iterator[str]:
    wrong = [p for p in c.expansion.points if p.state == INVALID]
    if wrong:
        told = "; ".join(f"{p.label} ({', '.join(dict.fromkeys(code for code, _ in p.found))})" for p in wrong)
        yield f"These combinations are no valid recipes, so the table has no number for them: {told}."
    yield from (f"Incomplete: {line}." for line in c.missing)


def cells(row: Row) -> list[str]:
    """A row of the table, in the order of HEAD."""
    d = row.difference
    p = "" if d is None or row.adjusted is None else f"{row.adjusted:.3f}" if row.adjusted >= 0.001 else "<0.001"
    score = with_interval(row.score.mean, row.score.half) if row.score else row.state if row.state != "ready" else "–"
    cost = [f"{x:,.0f}" if row.values else "–" for x in (row.generated, row.trained, row.seconds)]
    return [row.label, score, str(len(row.values)), with_interval(d.mean, d.half, "+") if d else "", p, row.verdict,
            *cost]


HEAD = ("change", "score", "seeds", "difference", "p (Holm)", "distinguishable", "tokens generated", "tokens trained",
        "seconds")


def with_interval(mean: float, half: float | None, sign: str = "") -> str:
    """`0.412 ± 0.031`; without an interval the mean alone."""
    return f"{mean:{sign}.3f}" + ("" if half is None else f" ± {half:.3f}")


def attribution(c: Comparison) -> tuple[str, list[tuple[str, str]]] | None:
    """A sentence and the share of each change; None where not all orders were run."""
    if c.attribution is None:
        return None
    gains, orders = c.attribution
    whole = sum(gains.values())
    says = (f"Mean gain of each change over {orders:,} orders (Shapley value of the means over seeds, without an "
            f"interval); together {whole:+.3f}.")
    return says, [(name, f"{gain:+.3f}") for name, gain in gains.items()]


def changes(c: Comparison) -> list[tuple[str, tuple[str, ...]]]:
    """What each row changes, from the recipes."""
    return [(r.label, r.changes) for s in c.sections[:1] for r in s.rows if r.changes]

