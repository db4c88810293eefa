"""Many recipes of one file: the points of a sweep, laid over the recipe it varies."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rldsl.axes.searching import Search
from rldsl.compiler.recipe import Recipe
from rldsl.diagnostics import Diagnostic, Span
from rldsl.grammar import tree

from .ablation import Options, options
from .condition import Condition
from .dimensions import Axis, Setting, assigns, axes, bounded, combinations
from .merge import Layer
from .project import Project, raise_found, read_project, typed_recipe
from .report import Report, did_you_mean
from .scope import KINDS, reference
from .search import search_of

LAID = "--set"
"""A point is laid over a recipe as `--set` would be."""
ABSENT = "RL207"
"""A condition may name a parameter that only some points have."""


@dataclass(frozen=True)
class Point:
    """One combination of a sweep: its settings, the recipe it makes or what is wrong with it, and whether an
    `exclude when` leaves it out."""

    settings: tuple[Setting, ...]
    recipe: Recipe | None
    found: tuple[Diagnostic, ...]
    excluded: bool


@dataclass
class Variants:
    """A recipe of a project and what is laid over it beside a point."""

    project: Project
    recipe: tree.Recipe
    profile: str | None = None
    sets: Sequence[str] = ()

    def base(self) -> Recipe:
        """The recipe itself. RecipeError with everything wrong in it."""
        made = typed_recipe(self.recipe, self.project, self.profile, self.sets)
        raise_found(self.project)
        return made

    def axes(self, sweep: tree.Sweep) -> list[Axis]:
        """The sweep's dimensions, checked, as are its options: every listed value, and both ends of ranges. What is
        wrong is in the project's report."""
        report = self.project.report
        before = len(report.found)
        found = axes(sweep, self.project.scopes[sweep.span.file], self.project.texts, report)
        if len(report.found) == before and bounded(sweep, found, report):
            self._try_values(sweep, found)
            self._refuse_swept_sets(found)
        self.search(sweep)
        return found

    def search(self, sweep: tree.Sweep) -> Search | None:
        """How the points are searched, if they are; what is wrong is in the project's report."""
        return search_of(sweep, self.project.scopes[sweep.span.file], self.project.report)

    def points(self, sweep: tree.Sweep, found: Sequence[Axis]) -> Iterator[Point]:
        """Every combination, made into a recipe."""
        for settings in combinations(found):
            recipe, wrong = self._make(sweep, settings)
            excluded = recipe is not None and self._excluded(sweep, recipe, Report())
            yield Point(settings, recipe, tuple(wrong), excluded)

    def _make(self, sweep: tree.Sweep, settings: Sequence[Setting]) -> tuple[Recipe | None, list[Diagnostic]]:
        """A combination as a recipe, with findings of its own."""
        report = Report(lets=self.project.report.lets)
        project = dataclasses.replace(self.project, report=report)
        layer = Layer(LAID, sweep.name, assigns(settings), self.project.scopes[sweep.span.file])
        made = typed_recipe(self.recipe, project, self.profile, self.sets, (layer,))
        return (None if report.found else made), report.found

    def _excluded(self, sweep: tree.Sweep, recipe: Recipe, report: Report) -> bool:
        scope = self.project.scopes[sweep.span.file]
        return any([Condition(e.condition, scope, report).holds(recipe) for e in sweep.excludes])

    def _try_values(self, sweep: tree.Sweep, found: Sequence[Axis]) -> None:
        """Reports what is wrong with a value whether the other dimensions are at their first or at their last, and
        with a condition wherever it is asked."""
        values: list[dict[Diagnostic, None]] = [{}, {}]
        conditions: list[list[Diagnostic]] = []
        for own, end in zip(values, (0, -1), strict=True):
            for axis, settings in _one_by_one(found, end):
                recipe, wrong = self._make(sweep, settings)
                own |= dict.fromkeys(d for d in wrong if _inside(d, axis.dimension.span))
                if recipe is not None:
                    report = Report(lets=self.project.report.lets)
                    self._excluded(sweep, recipe, report)
                    conditions.append(report.found)
        every = dict.fromkeys(d for found in conditions for d in found)
        self.project.report.found += [*(d for d in values[0] if d in values[1]), *(
            d for d in every if d.code != ABSENT or all(d in found for found in conditions))]

    def _refuse_swept_sets(self, found: Sequence[Axis]) -> None:
        swept = {path: a.dimension.span for a in found for path in a.paths}
        for line, text in enumerate(self.sets, 1):
            path = text.partition("=")[0].strip()
            if path in swept:
                self.project.report.add("RL110", f"`{path}` is set and swept", Span("--set", line, 1, line,
                                        len(text) + 1), "set here", also=((swept[path], "takes several values here"),),
                                        fix="leave one of them out")


def _one_by_one(found: Sequence[Axis], end: int) -> Iterator[tuple[Axis, tuple[Setting, ...]]]:
    """Each value once (of a range its ends), with every other dimension at its first or last value."""
    rest = [a.places[end] for a in found]
    for i, a in enumerate(found):
        for place in a.places if a.listed else (a.places[0], a.places[-1]):
            yield a, tuple(s for j, other in enumerate(rest) for s in (place if i == j else other))


def _inside(d: Diagnostic, outer: Span) -> bool:
    """Whether the main place of a finding is in a region."""
    return any(x.primary and x.span.file == outer.file
               and (outer.line, outer.column) <= (x.span.line, x.span.column)
               and (x.span.end_line, x.span.end_column) <= (outer.end_line, outer.end_column) for x in d.labels)


def find(path: str, name: str | None, kind: type, *, sets: Sequence[str] = (),
         root: Path | None = None) -> tuple[Project, tree.Sweep | tree.Ablate | None]:
    """A file's sweep or ablation of that name, or its only one; what is wrong is in the project's report."""
    project = read_project(path, sets, root)
    file = next(iter(project.loaded.files.values()))
    own = [s for s in file.statements if isinstance(s, kind)]
    chosen = [s for s in own if name in (None, s.name)]
    if len(chosen) == 1:
        return project, chosen[0]
    word, top = KINDS[kind].partition(" ")[2], Span(file.path, 1, 1, 1, 1)
    names = [s.name for s in own]
    if name is not None:
        other = project.scope.get(name)
        project.report.add("RL201", f"`{name}` is {KINDS[type(other)]}, not {KINDS[kind]}" if other else
                           f"the file has no {word} `{name}`", top, "not in this file", fix=did_you_mean(name, names)
                           or f"write {kind.__name__.lower()} NAME …; the language reference has the form")
    elif own:
        project.report.add("RL202", f"the file holds {len(own)} {word}s: say which one", own[1].name_span,
                           "the second one", fix=f"write {file.path}:NAME with one of {', '.join(names)}")
    else:
        project.report.add("RL202", f"the file holds no {word}", top, "nothing to run",
                           fix=f"write {kind.__name__.lower()} NAME …; the language reference has the form")
    return project, None


def sweep_of(path: str, name: str | None, *, profile: str | None = None, sets: Sequence[str] = (),
             root: Path | None = None) -> tuple[tree.Sweep, list[Axis], Variants]:
    """A sweep with its checked dimensions. RecipeError with everything wrong in it."""
    project, sweep = find(path, name, tree.Sweep, sets=sets, root=root)
    target = sweep and reference(sweep.of, project.scope, project.report)
    variants = target and Variants(project, target, profile, sets)
    found = variants.axes(sweep) if variants else []
    raise_found(project)
    return sweep, found, variants


def ablation_of(path: str, name: str | None, *, root: Path | None = None) -> tuple[tree.Ablate, Options]:
    """An ablation with its options; its recipes exist. RecipeError with everything wrong in it."""
    project, ablation = find(path, name, tree.Ablate, root=root)
    for end in (ablation.start, ablation.goal) if ablation else ():
        reference(end, project.scope, project.report)
    found = ablation and options(ablation, project.scopes[ablation.span.file], project.report)
    raise_found(project)
    return ablation, found
