"""One file with everything it reaches, and the typed recipes that can be made of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rldsl.axes.types import Natural
from rldsl.compiler.recipe import Recipe
from rldsl.diagnostics import Diagnostic, Label, RecipeError, Span, together
from rldsl.grammar import tree

from .axes import READERS, first
from .blocks import settings
from .commandline import FILE, assignments
from .fold import Scope
from .links import refuse_written
from .load import Loaded, load
from .merge import Draft, Layer, lay, without_replaced
from .origins import DEFAULT_SEED, origins
from .references import follow
from .report import Report, did_you_mean
from .scope import Definition, ancestors, definitions, reference
from .trail import Trail
from .unread import refuse_unread
from .unused import unused
from .values import INVALID, typed

LOST = frozenset({"RL202", "RL207", "RL208", "RL212"})
"""What is found where something is not there: a setting, a reader, a dimension."""


@dataclass
class Project:
    """One file with everything it reaches, read once; `scopes` holds the constants of each file."""

    report: Report
    loaded: Loaded
    scope: dict[str, Definition]
    scopes: dict[str, Scope]
    texts: dict[str, list[str]]


def read_project(path: str, sets: Sequence[str], root: Path | None) -> Project:
    """The project around a file; what is wrong so far is in its report."""
    report = Report()
    loaded = load(path, report, root)
    scopes = {name: Scope(lets, report) for name, lets in report.lets.items()}
    for scope in scopes.values():
        for let in scope.lets:
            scope.value(let)
    texts = {name: file.text.split("\n") for name, file in loaded.files.items()} | {FILE: list(sets)}
    return Project(report, loaded, definitions(loaded, report), scopes, texts)


def raise_found(project: Project) -> None:
    """Raises what was found: each finding once, and none that only follows from a syntax error."""
    found, syntax = project.report.found, project.loaded.syntax_errors
    if syntax:
        spans = [d.primary for d in syntax if d.primary]
        lines = {(span.file, line) for span in spans for line in range(span.line, span.end_line + 1)}
        found = [d for d in found if d in syntax or not _follows(d, lines, project)]
    if found:
        uses = _uses(project)
        raise RecipeError([_with_let(d, uses) for d in together(found)])


def _follows(d: Diagnostic, wrong: set[tuple[str, int]], project: Project) -> bool:
    """Whether a finding may only be there because of syntax errors: what it misses was perhaps written, or its line
    cannot be read, or nobody knows where in its file it belongs."""
    if d.code in LOST or d.message.startswith("There is no recipe") or d.primary is None:
        return True
    return (d.primary.file, d.primary.line) in wrong or not project.loaded.files[d.primary.file].whole


def _uses(project: Project) -> dict[Span, Span]:
    return {use: place for scope in project.scopes.values() for use, place in scope.uses.items()}


def _with_let(d: Diagnostic, uses: dict[Span, Span]) -> Diagnostic:
    """Where the wrong value came through a `let`, its definition is shown too."""
    extra = tuple(Label(uses[x.span], "defined here") for x in d.labels if x.primary and x.span in uses)
    return dataclasses.replace(d, labels=d.labels + extra)


def typed_recipe(recipe: tree.Recipe, project: Project, profile: str | None, sets: Sequence[str],
                 laid: Sequence[Layer] = (), body: Layer | None = None) -> Recipe | None:
    """A recipe with its ancestors, profile and `--set`, and with `laid` on top; None once an error is reported.

    `body` is laid as that of a child without a name of its own: before the profile.
    """
    line, complete = ancestors(recipe, project.scope, project.report)
    draft = Draft(Trail(project.texts))
    layers = [*_layers(line, recipe, project, profile, sets, complete, body), *laid]
    for layer in layers:
        lay(draft, layer, project.report)
    follow(draft, project.report)
    parts: dict[str, Any] = {}
    ok = complete
    for axis, read in READERS.items():
        e = draft.axes.get(axis)
        if e is None and complete and axis not in draft.broken:
            _missing(axis, line[0], project.report)
        fields = read(e, project.report) if e is not None and axis not in draft.broken else None
        ok, parts = ok and fields is not None, parts | (fields or {})
    made = settings(draft.settings, draft.broken, project.report)
    seed = DEFAULT_SEED if draft.seed is None else typed(draft.seed, Natural, "seed", project.report)
    if not ok or made is None or seed is INVALID:
        return None
    spans = {axis: e.span for axis, e in draft.axes.items()}
    whole = Recipe(recipe.name, recipe.span.file, recipe.doc, recipe.name_span, **parts, settings=made, seed=seed,
                   axis_spans=spans, origins=origins(parts, made, draft.trail), lets=_uses(project),
                   layers=tuple((layer.how, layer.recipe) for layer in layers),
                   unused=unused(project.loaded.files[recipe.span.file]))
    if made.evidence.baseline is not None:
        reference(tree.Name(made.evidence.baseline, whole.where("evidence.baseline")), project.scope, project.report)
    refuse_written(whole, project.report)
    refuse_unread(whole, [*(r.name for r in line), *([body.recipe] if body else [])], project.report)
    return whole


def _missing(axis: str, root: tree.Recipe, report: Report) -> None:
    report.add("RL202", f"the recipe does not say its {axis}", root.name_span, f"no {axis}",
               fix=f"write {axis} = {first(axis)}")


def _layers(line: list[tree.Recipe], recipe: tree.Recipe, project: Project, profile: str | None,
            sets: Sequence[str], complete: bool, body: Layer | None) -> list[Layer]:
    """What is laid on one another. An axis that a later profile or `--set` replaces leaves nothing to change in it."""
    layers = [*(Layer("recipe", r.name, r.body, project.scopes[r.span.file]) for r in line), *([body] if body else [])]
    over: list[Layer] = []
    if profile is not None:
        named = [(r, p) for r in line for p in r.body if isinstance(p, tree.Profile)]
        chosen = [Layer("profile", f"{r.name}:{p.name}", p.body, project.scopes[r.span.file])
                  for r, p in named if p.name == profile]
        if not chosen and complete:
            project.report.add("RL201", f"`{recipe.name}` has no profile `{profile}`", recipe.name_span,
                               "no such profile", fix=did_you_mean(profile, dict.fromkeys(p.name for _, p in named))
                               or f"it has none: write profile {profile} {{ … }} in it, or leave --profile out")
        over += chosen
    if sets:
        written = assignments(sets, project.report)
        over.append(Layer("--set", recipe.name, written, project.scopes[recipe.span.file]))
    return [*layers, *(without_replaced(layer, over[i + 1:]) for i, layer in enumerate(over))]
