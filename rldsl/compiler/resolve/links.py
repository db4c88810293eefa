"""What the stages of a pipeline take from one another: `from`, and the arguments of their recipes, checked as names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_origin

from rldsl.compiler.recipe import Recipe
from rldsl.compiler.settings import STAGE, FromStage, blocks, from_stage, hints
from rldsl.compiler.stages import Link
from rldsl.compiler.typehints import options
from rldsl.diagnostics import Span
from rldsl.grammar import tree
from rldsl.grammar.tree import Argument, Expr, ListExpr, Name, String

from .fold import describe
from .merge import PIPELINE
from .report import Report, did_you_mean

CODE = "RL329"


@dataclass(frozen=True)
class Taken:
    """One setting that a stage's `from` or an argument fills: the value in the notation of recipes, and the links."""

    block: str
    key: str
    mark: FromStage
    value: Expr
    links: tuple[Link, ...]
    span: Span


def takes(stage: tree.Stage, stages: Sequence[str], report: Report) -> list[Taken]:
    """What a stage takes (RL110, RL201, RL203; RL329 for a stage that nobody defines)."""
    found = []
    if stage.source is not None:
        place = next(p for p in _settings() if p[2].argument is None)
        found.append(_taken(*place, stage.source, stage.source.span, stages, report))
    named = {mark.argument: (block, key, mark) for block, key, mark in _settings() if mark.argument}
    seen: dict[str, Span] = {}
    for argument in stage.recipe.args if isinstance(stage.recipe, tree.Call) else ():
        if argument.name not in named:
            _unknown(argument, list(named), report)
        elif seen.setdefault(argument.name, argument.span) is not argument.span:
            report.add("RL110", f"`{argument.name}` is given twice", argument.span, "given again",
                       also=((seen[argument.name], "given here"),), fix="keep one of them")
        else:
            found.append(_taken(*named[argument.name], argument.value, argument.span, stages, report))
    return [t for t in found if t is not None]


def _settings() -> Iterator[tuple[str, str, FromStage]]:
    for block, cls in blocks().items():
        for key, mark in from_stage(cls).items():
            yield block, key, mark


def _unknown(argument: Argument, known: list[str], report: Report) -> None:
    if argument.name is None:
        report.add("RL203", "what a stage takes is written `name: stage`", argument.span, "no name",
                   fix=f"its names are {', '.join(known)}; what changes the recipe goes into {{ … }}")
        return
    report.add("RL201", f"a stage takes no `{argument.name}`", argument.name_span or argument.span, "unknown",
               fix=did_you_mean(argument.name, known) or
               f"it takes {', '.join(known)}; what changes the recipe goes into {{ … }}")


def _taken(block: str, key: str, mark: FromStage, e: Expr, span: Span, stages: Sequence[str],
           report: Report) -> Taken | None:
    """The setting's value, with `stage:NAME` for each stage that is named."""
    several = any(get_origin(base) is tuple for base, _ in options(hints(blocks()[block])[key]))
    if several != isinstance(e, ListExpr):
        report.add("RL203", f"`{mark.argument or 'from'}` is {'a list of stages' if several else 'one stage'}, "
                   f"not {describe(e)}", e.span, "wrong type",
                   fix=f"write {mark.argument}: [{', '.join(stages[:2])}]" if several else "name one stage")
        return None
    items = [_item(x, block, key, mark, stages, report) for x in (e.items if several else (e,))]
    if None in items:
        return None
    links = tuple(link for _, link in items if link is not None)
    values = tuple(value for value, _ in items)
    return Taken(block, key, mark, ListExpr(values, e.span) if several else values[0], links, span)


def _item(e: Expr, block: str, key: str, mark: FromStage, stages: Sequence[str],
          report: Report) -> tuple[Expr, Link | None] | None:
    if isinstance(e, String) and mark.argument is not None and not mark.hidden:
        return e, None  # a model or a data set, as in the block itself
    if not isinstance(e, Name):
        report.add("RL203", f"`{mark.argument}` names a stage, not {describe(e)}", e.span, "no stage",
                   fix=f"write the name of a stage: {', '.join(stages)}")
        return None
    if e.id not in stages:
        report.add(CODE, f"there is no stage `{e.id}` in this pipeline", e.span, "no such stage",
                   why="A stage takes what another one of the same pipeline left",
                   fix=did_you_mean(e.id, stages) or f"its stages are {', '.join(stages)}; a recipe becomes one with "
                   f"stage {e.id} = …")
        return None
    return String(STAGE + e.id, e.span), Link(block, key, mark.takes, mark.argument, e.id, e.span)


def ordered(links: Mapping[str, Sequence[Link]], report: Report) -> list[str]:
    """The stages' names so that each comes after those it takes something from, else as written; RL329 for a circle,
    whose stages are left out."""
    done: list[str] = []
    waiting = list(links)
    while True:
        ready = next((n for n in waiting if all(x.source in done or x.source not in links for x in links[n])), None)
        if ready is None:
            break
        done.append(ready)
        waiting.remove(ready)
    if waiting:
        _circle(links, waiting, report)
    return done


def _circle(links: Mapping[str, Sequence[Link]], waiting: Sequence[str], report: Report) -> None:
    """Follows what waits until a stage comes again."""
    line: list[Link] = []
    seen, at = [], waiting[0]
    while at not in seen:
        seen.append(at)
        line.append(next(x for x in links[at] if x.source in waiting))
        at = line[-1].source
    ring, names = line[seen.index(at):], [*seen[seen.index(at):], at]
    report.add(CODE, f"circular pipeline: {' ← '.join(names)}", ring[0].span, "waits for itself",
               also=tuple((x.span, "part of the circle") for x in ring[1:]),
               why="Each of these stages would have to be finished before the other begins",
               fix="let one of them start from a model of its own")


def clashes(stage: tree.Stage, found: Sequence[Taken], report: Report) -> None:
    """RL210 where a stage's own body writes a setting that `from` or an argument fills."""
    written = dict(_written(stage))
    for taken in found:
        for path in (f"{taken.block}.{taken.key}", *taken.mark.resets):
            if path in written:
                report.add("RL210", f"two settings of the stage `{stage.name}` state one fact: `{path}`", written[path],
                           "this one", also=((taken.span, "and this one"),), fix="keep one of them")


def _written(stage: tree.Stage) -> Iterator[tuple[str, Span]]:
    for item in stage.body:
        match item:
            case tree.Assign(target=target):
                yield target.text, target.span
            case tree.Block(name=block, entries=entries):
                yield from ((f"{block}.{e.key}", e.key_span or e.span) for e in entries if e.key is not None)


def default(block: str, key: str) -> Any:
    """What a setting holds where nothing is written."""
    return blocks()[block].__dataclass_fields__[key].default


def refuse_written(recipe: Recipe, report: Report) -> None:
    """RL329 where a recipe itself writes `stage:NAME`, which is how a pipeline says that a stage is meant."""
    for block, key, _ in _settings():
        value = getattr(getattr(recipe.settings, block), key)
        history = recipe.origins.get(f"{block}.{key}", ())
        named = [x for x in (value if isinstance(value, tuple) else (value,)) if isinstance(x, str)]
        if history and history[-1].how != PIPELINE and any(x.startswith(STAGE) for x in named):
            report.add(CODE, f"`{block}.{key}` names a stage, and only a pipeline has stages", history[-1].span,
                       "written in a recipe", why="A pipeline knows when that stage is finished",
                       fix="let a stage of a pipeline take it: stage NAME = RECIPE(…) from …")
