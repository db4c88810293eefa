"""A frozen expansion: every point of a sweep or an ablation, compiled, and the runs that are to be made.

Kept as `.rldsl/sweeps/<name>-<hash>.json`. What runs later is read from this file and the plans it names.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rldsl.backends.choose import refuse
from rldsl.compiler.compile import compile_recipe, with_seed
from rldsl.compiler.plan import Plan, reason, write_plan
from rldsl.compiler.recipe import Recipe
from rldsl.compiler.resolve.dimensions import MOST
from rldsl.compiler.settings import missing_for_run
from rldsl.diagnostics import Diagnostic, RecipeError, Span, at

VERSION = 1
FOLDER = Path(".rldsl") / "sweeps"
READY, EXCLUDED, INVALID = "ready", "excluded", "invalid"
SWEEP, ABLATION = "sweep", "ablation"


@dataclass(frozen=True)
class Cost:
    """What a run is predicted to take: batches, responses, and tokens sampled at most (without refills, evaluation
    and warm start)."""

    batches: int = 0
    responses: int = 0
    tokens: int = 0

    def times(self, n: int) -> Cost:
        """That of `n` runs."""
        return Cost(self.batches * n, self.responses * n, self.tokens * n)

    def plus(self, other: Cost) -> Cost:
        """That of both."""
        return Cost(self.batches + other.batches, self.responses + other.responses, self.tokens + other.tokens)


@dataclass(frozen=True)
class Point:
    """One recipe of the expansion. `values` is what varies, as text; `changed` names what an ablation has changed
    so far. `found` holds [code, message] of what is wrong with it; `experiments` its identity by seed, and `plans`
    the plan of each seed, relative to the project."""

    id: str
    label: str
    values: Mapping[str, str]
    state: str
    changed: tuple[str, ...] = ()
    found: tuple[tuple[str, str], ...] = ()
    fingerprints: Mapping[str, str] | None = None
    cost: Cost = Cost()
    experiments: Mapping[str, str] | None = None
    plans: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Job:
    """One training run: a point with one seed. Points that mean the same experiment share it."""

    experiment: str
    seed: int
    plan: str
    points: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """A dimension of a sweep's grid: what moves along it, how many places it has, and whether they have an order. The
    points are numbered with the last line moving fastest."""

    paths: tuple[str, ...]
    size: int
    ordered: bool


@dataclass(frozen=True)
class Expansion:
    """`varies` are the paths (or changes) that differ between points; `reference` is the point that others are
    compared with; `order` is the path of an ablation, `orders` whether all were asked for; `track` is where runs
    are tracked, with the experiment's name. `search` is how points of the grid `space` are chosen, as a canonical
    choice; without it all of them are run."""

    kind: str
    name: str
    file: str
    of: str
    varies: tuple[str, ...]
    seeds: tuple[int, ...]
    metric: str
    reference: str
    points: tuple[Point, ...]
    track: tuple[str | None, str]
    order: tuple[str, ...] = ()
    orders: str = "given"
    search: Mapping[str, Any] | None = None
    space: tuple[Line, ...] = ()
    version: int = VERSION

    def jobs(self) -> list[Job]:
        """The distinct runs, in the order of points and seeds."""
        found: dict[str, Job] = {}
        for point in self.points:
            for seed, experiment in (point.experiments or {}).items():
                before = found.get(experiment)
                points = (*before.points, point.id) if before else (point.id,)
                found[experiment] = Job(experiment, int(seed), before.plan if before else point.plans[seed], points)
        return list(found.values())

    def point(self, id: str) -> Point:
        """The point of that id."""
        return next(p for p in self.points if p.id == id)

    def trials(self) -> int:
        """How many points are run, at most."""
        ready = sum(p.state == READY for p in self.points)
        return ready if self.search is None else min(ready, self.search["params"]["trials"])

    def cost(self) -> Cost:
        """That of all its runs; of a search, of as many as it may make, each as long as the longest."""
        each = [self.point(job.points[0]).cost for job in self.jobs()]
        if self.search is not None:
            longest = max(each, key=lambda c: c.tokens, default=Cost())
            return longest.times(min(len(each), self.trials() * len(self.seeds)))
        total = Cost()
        for cost in each:
            total = total.plus(cost)
        return total


@dataclass(frozen=True)
class Compiled:
    """A point and, where it can run, its plan before seeds are put in."""

    point: Point
    plan: Plan | None
    warnings: tuple[Diagnostic, ...] = ()


def compiled(point: Point, recipe: Recipe | None, found: Sequence[Diagnostic]) -> Compiled:
    """The point with its plan, or with what is wrong: what was found, what the rules say, what training lacks, and
    what the backend refuses."""
    wrong, warnings, plan = list(found), [], None
    if recipe is not None:
        wrong += missing_for_run(recipe.settings, recipe.span)
        try:
            plan, warnings = compile_recipe(recipe)
            refuse(recipe)
        except RecipeError as error:
            wrong += [d for d in error.diagnostics if d.severity == "error"]
    if wrong or plan is None:
        told = tuple(dict.fromkeys((d.code, d.message) for d in wrong))
        return Compiled(replace(point, state=INVALID, found=told), None)
    return Compiled(replace(point, cost=predicted(recipe), fingerprints=dict(plan.fingerprints)), plan, tuple(warnings))


def predicted(recipe: Recipe) -> Cost:
    """What one run of a recipe that can be run takes."""
    steps, sampler = recipe.settings.budget.steps, recipe.sampling[0].choice
    responses = steps * recipe.settings.data.prompts * sampler.siblings()
    return Cost(steps, responses, responses * sampler.max_tokens)


def seeds_from(first: int, number: int) -> tuple[int, ...]:
    """The same seeds for every point, so that differences are paired."""
    return tuple(range(first, first + number))


def bounded(points: int, seeds: int, what: str, span: Span | None = None) -> None:
    """RecipeError RL213 where there would be too many runs."""
    if points * seeds > MOST:
        raise RecipeError([at(
            "RL213", f"{what}: {points:,} points × {seeds:,} seeds = {points * seeds:,} runs; at most {MOST:,} are run",
            span, "too many", why="each is a training run of its own", fix="take fewer values or fewer seeds")])


def left_out(name: str, points: Sequence[Point], span: Span | None = None) -> list[Diagnostic]:
    """RL215 for the points that do not compile: a warning, an error where none is left to run."""
    wrong = [p for p in points if p.state == INVALID]
    ready = sum(p.state == READY for p in points)
    if not wrong and ready:
        return []
    codes = Counter(code for p in wrong for code, _ in p.found)
    told = ", ".join(f"{code} at {n}" for code, n in codes.items())
    why = "; ".join(dict.fromkeys(f"{code}: {message}" for p in wrong for code, message in p.found[:1]))
    if not wrong:
        return [at("RL215", f"every point of `{name}` is excluded", span, "nothing to run", fix="loosen exclude when")]
    return [at("RL215", f"{len(wrong)} of {len(points)} points of `{name}` do not compile ({told})", span,
               "left out" if ready else "nothing to run", why=why,
               fix="exclude them, or change what they are laid over",
               severity="warning" if ready else "error")]


# ── the file ─────────────────────────────────────────────────────────────────────────────────────────

def with_plans(found: Compiled, seeds: Sequence[int], root: Path) -> Point:
    """The point with a written plan for each seed; one that cannot run as it is. OSError where none can be written."""
    if found.plan is None:
        return found.point
    plans, experiments = {}, {}
    for seed in seeds:
        plan = with_seed(found.plan, seed)
        plans[str(seed)] = str(write_plan(plan, root).relative_to(root))
        experiments[str(seed)] = plan.fingerprints["experiment"]
    return replace(found.point, plans=plans, experiments=experiments)


def path_of(expansion: Expansion, root: Path) -> Path:
    """Where it is kept: one file for each distinct expansion."""
    digest = hashlib.sha256(_text(expansion).encode()).hexdigest()
    return root / FOLDER / f"{expansion.name}-{digest[:8]}.json"


def freeze(expansion: Expansion, root: Path) -> Path:
    """Writes it, all or nothing, and says where."""
    path = path_of(expansion, root)
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(f".{os.getpid()}.tmp")
    half.write_text(_text(expansion), encoding="utf-8")
    half.replace(path)
    return path


def _text(expansion: Expansion) -> str:
    return json.dumps(asdict(expansion), sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def read_expansion(path: Path) -> Expansion:
    """One from its file. RecipeError RL407 where it cannot be read."""
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if data["version"] != VERSION:
            raise ValueError
        points = tuple(_point(p) for p in data["points"])
        tuples = {k: tuple(data[k]) for k in ("varies", "seeds", "track", "order")}
        space = tuple(Line(tuple(x["paths"]), x["size"], x["ordered"]) for x in data["space"])
        return Expansion(**{**data, **tuples, "points": points, "space": space})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecipeError([at("RL407", f"the expansion {path} cannot be read: {reason(error)}", None,
                              fix="run `rldsl sweep` or `rldsl ablate` again")]) from error


def _point(data: Mapping[str, Any]) -> Point:
    return Point(**{**data, "changed": tuple(data["changed"]), "found": tuple(tuple(f) for f in data["found"]),
                    "cost": Cost(**data["cost"])})
