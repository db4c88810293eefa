"""What a pipeline does, stage by stage: what each takes, what it maximises, how much it trains and what it leaves."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from rldsl.algebra.render_unicode import unicode
from rldsl.axes.traits import VALUES

from .explain import explain
from .explain_html import page, sections
from .explain_json import to_json as stage_json
from .facts import giving, moves
from .stages import Pipeline, Stage, told


def leaves(stage: Stage) -> tuple[str, ...]:
    """What a later stage can take from this one."""
    found = [("a policy", moves(stage.recipe)), ("a critic", bool(giving(stage.recipe, VALUES))),
             ("a data set", stage.recipe.settings.data.collect is not None)]
    return tuple(what for what, there in found if there)


def takes(stage: Stage) -> str:
    """What a stage takes, or the model that it begins with."""
    written = list(told(stage.links))
    if not any(link.argument is None for link in stage.links):
        written.insert(0, stage.recipe.settings.model.policy or "model.policy is not set")
    return "; ".join(written)


def to_text(p: Pipeline) -> str:
    """A table of the stages, then a few lines on each; `rldsl explain FILE:PIPELINE.STAGE` has the rest."""
    rows = [(str(n), s.name, s.recipe.name, takes(s), ", ".join(leaves(s)) or "nothing")
            for n, s in enumerate(p.stages, 1)]
    head = ("", "stage", "recipe", "begins with", "leaves")
    widths = [max(len(r[i]) for r in (head, *rows)) for i in range(len(head))]
    lines = [f"{p.name}  ({p.file})", "", "Stages, in the order they run"]
    lines += ["  " + "  ".join(f"{cell:<{w}}" for cell, w in zip(r, widths, strict=True)).rstrip()
              for r in (head, *rows)]
    for stage in p.stages:
        lines += ["", *_stage(stage)]
    return "\n".join(lines)


def _stage(stage: Stage) -> Iterator[str]:
    e = explain(stage.recipe)
    yield f"{stage.name}: {e.doc or e.name}"
    if moves(stage.recipe):
        yield f"  J = {unicode(e.objective)}"
    else:
        yield "  the policy stays as it is"
    rows = [*e.models, *(fact for fact in e.batch if fact[0] in ("responses per batch", "training"))]
    width = max(len(what) for what, _ in rows)
    yield from (f"  {what:<{width}}  {value}" for what, value in rows)


def to_json(p: Pipeline) -> dict[str, Any]:
    """The same as data, with the whole explanation of every stage."""
    stages = [{"stage": s.name, "takes": [{"what": link.argument or "from", "stage": link.source} for link in s.links],
               "leaves": list(leaves(s)), **stage_json(explain(s.recipe))} for s in p.stages]
    return {"name": p.name, "file": p.file, "stages": stages}


def to_html(p: Pipeline) -> str:
    """One page: the table, then every stage as it is explained alone."""
    rows = "".join(f"<tr><td>{escape(s.name)}</td><td>{escape(s.recipe.name)}</td><td>{escape(takes(s))}</td>"
                   f"<td>{escape(', '.join(leaves(s)) or 'nothing')}</td></tr>" for s in p.stages)
    body = [f"<h1>{escape(p.name)}</h1>", f'<p class="file">{escape(p.file)}</p>',
            f"<table><tr><th>stage</th><th>recipe</th><th>begins with</th><th>leaves</th></tr>{rows}</table>"]
    for stage in p.stages:
        body += [f"<h1>{escape(stage.name)}</h1>", *sections(explain(stage.recipe))]
    return page(p.name, body)
