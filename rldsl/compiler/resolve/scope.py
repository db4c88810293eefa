"""The flat scope of all recipes in reach, and the line of ancestors of one of them."""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.diagnostics import Span
from rldsl.grammar import tree

from .load import LIBRARY, Loaded, library_root
from .report import Report, did_you_mean

Definition = tree.Recipe | tree.Sweep | tree.Ablate | tree.Pipeline
KINDS = {tree.Recipe: "a recipe", tree.Sweep: "a sweep", tree.Ablate: "an ablation", tree.Pipeline: "a pipeline"}


def definitions(loaded: Loaded, report: Report) -> dict[str, Definition]:
    """Everything the files define, by name. A name that two files define is RL110; the first one counts."""
    found: dict[str, Definition] = {}
    for file in loaded.files.values():
        for statement in file.statements:
            if not isinstance(statement, Definition):
                continue
            first = found.setdefault(statement.name, statement)
            if first.span.file != statement.span.file:
                report.add("RL110", f"`{statement.name}` is defined in two files", statement.name_span,
                           "defined here", also=((first.name_span, "and here"),),
                           why="an import brings all recipes of a file into one scope", fix="rename one of them")
    return found


def ancestors(recipe: tree.Recipe, scope: dict[str, Definition], report: Report) -> tuple[list[tree.Recipe], bool]:
    """The recipe and what it extends, oldest first, and whether the line is complete (else RL201, RL206)."""
    line = [recipe]
    while line[-1].parent is not None:
        parent = reference(line[-1].parent, scope, report)
        if parent is None:
            return line[::-1], False
        if any(parent is r for r in line):
            ring = line[next(i for i, r in enumerate(line) if r is parent):]
            first = ring.index(min(ring, key=lambda r: r.span))  # told the same from wherever it is met
            ring = [*ring[first:], *ring[:first + 1]]
            report.add("RL206", f"circular inheritance: {' → '.join(r.name for r in ring)}",
                       ring[0].parent.span, "its parent descends from it",
                       also=tuple((r.parent.span, "part of the circle") for r in ring[1:-1]),
                       fix="let one of them stand on its own")
            return line[::-1], False
        line.append(parent)
    return line[::-1], True


def reference(name: tree.Name, scope: dict[str, Definition], report: Report) -> tree.Recipe | None:
    """The recipe a name refers to; RL201 where there is none."""
    target = scope.get(name.id)
    if isinstance(target, tree.Recipe):
        return target
    recipes = [n for n, d in scope.items() if isinstance(d, tree.Recipe)]
    if target is not None:
        report.add("RL201", f"`{name.id}` is {KINDS[type(target)]}, not a recipe", name.span, "no recipe",
                   fix=did_you_mean(name.id, recipes))
        return None
    shipped = (library_root() / "algorithms" / f"{name.id}.rl").is_file()
    report.add("RL201", f"there is no recipe `{name.id}`", name.span, "unknown recipe",
               fix=f"import it: import {LIBRARY}.{name.id}" if shipped else did_you_mean(name.id, recipes))
    return None


def references(definition: Definition) -> Iterator[tree.Name]:
    """The recipes that a sweep or an ablation names."""
    match definition:
        case tree.Sweep(of=of):
            yield of
        case tree.Ablate(start=start, goal=goal):
            yield from (start, goal)


def pick_runnable(name: str | None, file: tree.File, scope: dict[str, Definition],
                  report: Report) -> tree.Recipe | tree.Pipeline | None:
    """What can be run under that name; without one, the only recipe or pipeline of the file (RL201, RL202)."""
    own = [s for s in file.statements if isinstance(s, tree.Recipe | tree.Pipeline)]
    pipelines = [s for s in own if isinstance(s, tree.Pipeline)]
    if name is not None and isinstance(scope.get(name), tree.Pipeline):
        return scope[name]
    if name is not None or not pipelines:
        return pick(name, file, scope, report)
    if len(own) == 1:
        return own[0]
    report.add("RL202", f"the file holds {len(own)} recipes and pipelines: say which one", own[1].name_span,
               "the second one", also=((own[0].name_span, "the first one"),),
               fix=f"write {file.path}:NAME with one of {', '.join(s.name for s in own)}")
    return None


def pick(name: str | None, file: tree.File, scope: dict[str, Definition], report: Report) -> tree.Recipe | None:
    """The recipe asked for; without a name, the only one of the file (RL201, RL202)."""
    top = Span(file.path, 1, 1, 1, 1)
    own = [s for s in file.statements if isinstance(s, tree.Recipe)]
    if name is not None:
        target = reference(tree.Name(name, top), scope, report)
        return target
    if len(own) == 1:
        return own[0]
    if own:
        names = ", ".join(r.name for r in own)
        report.add("RL202", f"the file holds {len(own)} recipes: say which one", own[1].name_span, "the second one",
                   also=((own[0].name_span, "the first one"),),
                   fix=f"write {file.path}:NAME with one of {names}")
    else:
        report.add("RL202", "the file holds no recipe", top, "nothing to run", fix="write recipe NAME { … }")
    return None
