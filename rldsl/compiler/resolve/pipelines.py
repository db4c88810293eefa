"""Pipelines: each stage's recipe with what it takes from other stages, and whether the stages fit one another."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from rldsl.axes.traits import VALUES
from rldsl.compiler.recipe import Origin, Recipe
from rldsl.compiler.shapes import shape
from rldsl.compiler.show import show
from rldsl.compiler.stages import Link, Pipeline, Stage
from rldsl.grammar import tree
from rldsl.grammar.tree import Assign, Block, Constant, Entry, Expr, Number, String

from .commandline import assignments
from .links import CODE, Taken, clashes, default, ordered, takes
from .merge import ALONG, PIPELINE, Layer
from .project import Project, typed_recipe
from .report import Report
from .scope import reference

COLLECTED = "response"
"""The column in which a stage keeps the responses that passed."""


def typed_pipeline(pipeline: tree.Pipeline, project: Project, profile: str | None,
                   sets: Sequence[str]) -> Pipeline | None:
    """A pipeline with its stages in running order; None once an error is reported.

    `--set` changes every stage, or with a stage's name before the path that stage alone.
    """
    report = project.report
    if not pipeline.stages:
        report.add("RL202", f"the pipeline `{pipeline.name}` has no stage", pipeline.name_span, "nothing to run",
                   fix="write stage NAME = RECIPE in it")
        return None
    names = [s.name for s in pipeline.stages]
    found = {s.name: takes(s, names, report) for s in pipeline.stages}
    order = ordered({name: [x for t in taken for x in t.links] for name, taken in found.items()}, report)
    written = _sets(assignments(sets, report), names)
    made: dict[str, Stage | None] = {}
    for stage in sorted(pipeline.stages, key=lambda s: order.index(s.name) if s.name in order else len(order)):
        clashes(stage, found[stage.name], report)
        made[stage.name] = _stage(stage, pipeline, _Around(project, profile, found[stage.name], made,
                                                           written[stage.name]))
    stages = tuple(s for s in made.values() if s is not None)
    _tracked_together(stages, report)
    whole = len(stages) == len(set(names)) == len(order)
    return Pipeline(pipeline.name, pipeline.span.file, pipeline.name_span, stages) if whole else None


@dataclasses.dataclass(frozen=True)
class _Around:
    """What a stage is made with: `made` holds the stages before it, `sets` its part of `--set`."""

    project: Project
    profile: str | None
    taken: Sequence[Taken]
    made: Mapping[str, Stage | None]
    sets: tuple[tuple[Assign, ...], tuple[Assign, ...]]


def _sets(written: Sequence[Assign], names: Sequence[str]) -> dict[str, tuple[tuple[Assign, ...], tuple[Assign, ...]]]:
    """The `--set` of each stage: those of all stages, and those that name it."""
    every: list[Assign] = []
    own: dict[str, list[Assign]] = {name: [] for name in names}
    for assign in written:
        head, *rest = assign.target.parts
        if rest and head.name in own:
            target = dataclasses.replace(assign.target, parts=tuple(rest))
            own[head.name].append(dataclasses.replace(assign, target=target))
        else:
            every.append(assign)
    return {name: (tuple(every), tuple(assigns)) for name, assigns in own.items()}


def _stage(stage: tree.Stage, pipeline: tree.Pipeline, around: _Around) -> Stage | None:
    project, report = around.project, around.project.report
    recipe = reference(called(stage), project.scope, report)
    if recipe is None:
        return None
    label, scope = f"{pipeline.name}.{stage.name}", project.scopes[pipeline.span.file]
    body = Layer("recipe", label, stage.body, scope)
    named, along = _blocks(around)
    laid = [Layer(ALONG, label, along, scope), Layer(PIPELINE, label, named, scope),
            *(Layer("--set", label, part, scope) for part in around.sets)]
    before = len(report.found)
    made = typed_recipe(recipe, project, around.profile, (), [x for x in laid if x.body], body)
    if made is None or len(report.found) > before:
        return None
    links = tuple(link for taken in around.taken for link in taken.links)
    whole = Stage(stage.name, _with_policy(made, links, around.made), links, stage.name_span)
    for link in links:
        source = around.made.get(link.source)
        if source is not None:
            FITS[link.takes](whole, link, source, report)
    return whole


def called(stage: tree.Stage) -> tree.Name:
    """The name of a stage's recipe, where it is written."""
    e = stage.recipe
    return e if isinstance(e, tree.Name) else tree.Name(e.name, e.name_span)


def _blocks(around: _Around) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """What a stage takes, as blocks of settings, and what is decided by that."""
    named, along = [], []
    for taken in around.taken:
        named.append(_block(taken.block, taken.key, taken.value, taken))
        values: dict[tuple[str, str], Expr] = {}
        for path in taken.mark.resets:
            block, key = path.split(".")
            values[block, key] = _constant(default(block, key), taken)
        source = around.made.get(taken.links[0].source) if taken.links else None
        for key in taken.mark.copies if source else ():
            values[taken.block, key] = _constant(getattr(getattr(source.recipe.settings, taken.block), key), taken)
        along += [_block(block, key, e, taken) for (block, key), e in values.items()]
    return tuple(named), tuple(along)


def _block(block: str, key: str, e: Expr, taken: Taken) -> Block:
    place = taken.span
    return Block(block, (Entry(key, dataclasses.replace(e, span=place), place, place),), place, place)


def _constant(value: object, taken: Taken) -> Expr:
    match value:
        case None | bool():
            return Constant(value, taken.span)
        case str():
            return String(value, taken.span)
    return Number(value, taken.span)


def _with_policy(recipe: Recipe, links: Sequence[Link], made: Mapping[str, Stage | None]) -> Recipe:
    """A stage whose recipe names no policy trains the one that it starts from."""
    link = next((x for x in links if x.argument is None), None)
    source = made.get(link.source) if link else None
    if source is None or recipe.settings.model.policy is not None:
        return recipe
    policy = source.recipe.settings.model.policy
    model = dataclasses.replace(recipe.settings.model, policy=policy)
    step = Origin(PIPELINE, f'"{policy}"' if policy else show(policy), link.span, link.source)
    return dataclasses.replace(
        recipe, settings=dataclasses.replace(recipe.settings, model=model),
        origins={**recipe.origins, "model.policy": (*recipe.origins.get("model.policy", ()), step)})


def _tracked_together(stages: Sequence[Stage], report: Report) -> None:
    """The stages' runs are nested under one run, so one tracker has them all."""
    for stage in stages[1:]:
        first, own = stages[0].recipe, stage.recipe
        for name in ("mlflow", "experiment"):
            if getattr(first.settings.track, name) != getattr(own.settings.track, name):
                report.add(CODE, f"the stages `{stages[0].name}` and `{stage.name}` are tracked in different places",
                           own.where(f"track.{name}"), show(getattr(own.settings.track, name)),
                           also=((first.where(f"track.{name}"), show(getattr(first.settings.track, name))),),
                           why="the runs of all stages are nested under one run",
                           fix="write the same track block for each stage")
                break


# ── do the stages fit? ───────────────────────────────────────────────────────────────────────────────

def _fits_policy(stage: Stage, link: Link, source: Stage, report: Report) -> None:
    """The weights that a stage begins with are those of its own architecture; a teacher's or a reference's tokens are
    the stage's own tokens, as far as that is known here."""
    own, other = stage.recipe.settings.model.policy, source.recipe.settings.model.policy
    if own is None or other is None:
        return
    if link.argument is None and own != other:
        report.add(CODE, f"the stage `{stage.name}` trains {own} and starts from `{source.name}`, which trains {other}",
                   link.span, f"weights of {other}",
                   also=((stage.recipe.where("model.policy"), f"{own} is written here"),
                         (source.recipe.where("model.policy"), f"{other} is written here")),
                   why="the weights of one architecture do not fit another",
                   fix="let both train one model, or let the stage learn from the other as its teacher")
    sizes = [shape(spec, Path(s.recipe.file).parent) for spec, s in ((own, stage), (other, source))]
    if link.argument is not None and None not in sizes and sizes[0].vocabulary != sizes[1].vocabulary:
        report.add(CODE, f"the stage `{stage.name}` reads {sizes[0].vocabulary:,} tokens and its {link.argument} "
                   f"`{source.name}` {sizes[1].vocabulary:,}", link.span, other,
                   also=((stage.recipe.where("model.policy"), own),),
                   why="a token id is another text for each of them", fix="use models of one family")


def _fits_critic(stage: Stage, link: Link, source: Stage, report: Report) -> None:
    """Another stage's critic has to be there, and of the same architecture."""
    if not any(VALUES in n.choice.gives for n in source.recipe.nodes()):
        report.add(CODE, f"the stage `{source.name}` trains no critic that `{stage.name}` could take", link.span,
                   "no critic", also=((source.recipe.axis_spans["advantage"], "learns no value function"),),
                   why="a critic belongs to an advantage that learns a value function",
                   fix="take it from a stage that has one, or leave it out")
        return
    own, other = stage.recipe.settings.model.policy, source.recipe.settings.model.policy
    if own is not None and other is not None and own != other:
        report.add(CODE, f"the critic of `{source.name}` is built on {other}, that of `{stage.name}` on {own}",
                   link.span, f"a critic of {other}", also=((stage.recipe.where("model.policy"), own),),
                   why="the weights of one architecture do not fit another", fix="let both train one model")


def _fits_data(stage: Stage, link: Link, source: Stage, report: Report) -> None:
    """A data set has to be kept, and what is kept has to be read."""
    if source.recipe.settings.data.collect is None:
        report.add(CODE, f"the stage `{source.name}` keeps no data set that `{stage.name}` could read", link.span,
                   "no data set", also=((source.span, "keeps nothing"),),
                   why="only a stage with data.collect writes its verified responses down",
                   fix=f"write stage {source.name} = … {{ data {{ collect: 1 }} }}")
        return
    stored = stage.recipe.sampling[0].choice.stored()
    if stored is not None and COLLECTED not in stored.responses:
        report.add(CODE, f"the stage `{stage.name}` would not learn the responses that `{source.name}` kept", link.span,
                   "its responses are not read",
                   also=((stage.recipe.sampling[0].span, f"reads {', '.join(stored.responses) or 'the answers'}"),),
                   why=f"they are in the column `{COLLECTED}`, the reference answers beside them",
                   fix=f"let the sampler read the column `{COLLECTED}`")


FITS = {"policy": _fits_policy, "critic": _fits_critic, "data": _fits_data}
"""What has to hold between a stage and what it takes."""
