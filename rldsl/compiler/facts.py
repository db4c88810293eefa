"""What rules ask about a recipe: which choices give and need what, what their formulas read, how often it updates."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeVar, get_args, get_origin

from rldsl.algebra.divergence import is_divergence
from rldsl.algebra.expr import Const, Expr
from rldsl.algebra.grain import grains, substitute, variables
from rldsl.algebra.simplify import is_zero, simplify
from rldsl.algebra.variables import ADVANTAGE, LOGP_ROLLOUT, LOGP_TEACHER
from rldsl.axes import discover
from rldsl.axes.base import Estimator, Ratio, Regulariser, Sampler, Shaping, Source
from rldsl.axes.choice import Choice
from rldsl.axes.structure import Beginning, Dividing
from rldsl.axes.traits import PROXIMAL, Trait
from rldsl.diagnostics import Span

from .formulas import formulas
from .recipe import Feedback, Node, Product, Recipe, Scaled, Sum
from .resolve.load import project_root
from .settings import hints
from .ways import shortly, ways

Found = TypeVar("Found")

# ── needs and gives ──────────────────────────────────────────────────────────────────────────────────


def moves(recipe: Recipe) -> bool:
    """Whether the policy is trained at all."""
    optimizer = recipe.settings.optim.optimizer
    return optimizer is None or optimizer.trains()


def giving(recipe: Recipe, trait: Trait) -> list[Node]:
    """The choices that give a trait."""
    return [n for n in recipe.nodes() if trait in n.choice.gives]


def needing(recipe: Recipe, trait: Trait) -> list[Node]:
    """The choices that need a trait."""
    return [n for n in recipe.nodes() if trait in n.choice.needs]


def place(node: Node, trait: Trait) -> Span:
    """The value that decides a trait, or the whole choice where none was written."""
    return node.where(node.choice.decided_by.get(trait, ""))


def said(node: Node) -> str:
    """A choice as messages name it: `axis.name`."""
    return f"`{node.choice.axis}.{node.name}`"


def sampler(recipe: Recipe) -> Sampler:
    """What samples: the first element of the sampling axis."""
    return recipe.sampling[0].choice


def sampled(recipe: Recipe) -> bool:
    """Whether the policy writes responses; else the data set holds them."""
    return sampler(recipe).stored() is None


def divided(recipe: Recipe) -> frozenset[str]:
    """The units that sampling divides responses into, beside those of every batch."""
    stages = (n.choice.divides() for n in recipe.sampling[1:] if isinstance(n.choice, Dividing))
    return sampler(recipe).divides().union(*stages)


def units(recipe: Recipe, node: Node) -> frozenset[str]:
    """The units that a choice's own formulas are over; those of the ratio are the ratio's."""
    theirs = frozenset() if node is recipe.ratio else _stated(recipe, recipe.ratio).units
    return _stated(recipe, node).units - theirs


# ── what could be written instead ────────────────────────────────────────────────────────────────────


def names(axis: str, role: type[Choice], *, gives: Trait | None = None, never_gives: Trait | None = None,
          never_needs: Trait | None = None) -> str:
    """The choices of an axis in a role that can give one trait and never give or need others, as a list in words.

    A choice that gives it by one of its words only is shown with that word.
    """
    found = []
    for name in discover.names(axis):
        cls = discover.find(axis, name)
        if issubclass(cls, role) and (gives is None or gives in _may(cls, "gives")) and (
                never_gives not in _may(cls, "gives") and never_needs not in _may(cls, "needs")):
            shown = [shortly(c, gives) for c in ways(cls) if gives in c.gives] if gives else []
            found.append(min(shown, key=len, default=f"`{name}`"))
    return ", ".join(found)


def _may(cls: type[Choice], kind: Literal["needs", "gives"]) -> Iterable[Trait]:
    """The traits that some parameters of a choice can bring about."""
    fixed = getattr(cls, kind)
    if not isinstance(fixed, property):
        return fixed
    name = cls.__module__.rpartition(".")[2].removesuffix("_")
    shown = (getattr(cls(**e.params), kind) for e in discover.examples(cls.axis, name))
    return frozenset(cls.decided_by).union(*shown)


def without(choice: Choice, trait: Trait) -> str:
    """The word of the deciding parameter with which a choice no longer needs a trait, as `name: word`; or nothing."""
    parameter = choice.decided_by.get(trait)
    hint = hints(type(choice)).get(parameter)
    for word in get_args(hint) if get_origin(hint) is Literal else ():
        if trait not in dataclasses.replace(choice, **{parameter: word}).needs:
            return f"{parameter}: {word}"
    return ""


# ── formulas ─────────────────────────────────────────────────────────────────────────────────────────


@dataclasses.dataclass(frozen=True)
class _Stated:
    """What is read off a choice's formulas beside a ratio."""

    written: tuple[Expr, ...]
    simplified: tuple[Expr, ...]
    mentioned: frozenset[str]
    read: frozenset[str]
    units: frozenset[str]


@lru_cache(maxsize=4096)  # a choice is what its parameters are, and rules ask often
def _of(choice: Choice, ratio: Ratio) -> _Stated:
    r = ratio.ratio()
    every = tuple(formulas(choice, Const(1.0) if r is None else r).values())
    simplified = tuple(map(simplify, every))
    return _Stated(every, simplified, _names(every), _names(simplified), frozenset(g for e in every for g in grains(e)))


def _stated(recipe: Recipe, node: Node) -> _Stated:
    return _of(node.choice, recipe.ratio.choice)


def written(recipe: Recipe, node: Node) -> tuple[Expr, ...]:
    """The formulas of one choice as it writes them; without a ratio, r = 1 stands in for it."""
    return _stated(recipe, node).written


def stated(recipe: Recipe, node: Node) -> tuple[Expr, ...]:
    """The same, simplified: a term with coefficient 0 is gone."""
    return _stated(recipe, node).simplified


def reads(recipe: Recipe, node: Node) -> frozenset[str]:
    """The names of what a choice's formulas read; a term with coefficient 0 reads nothing."""
    return _stated(recipe, node).read


def mentions(recipe: Recipe, node: Node, *quantities: str) -> bool:
    """Whether a choice names one of these in a formula of its own, also with coefficient 0.

    A gate names what its ratio reads only through the ratio: that is the ratio's mention.
    """
    through = _stated(recipe, recipe.ratio).mentioned if node is not recipe.ratio else frozenset()
    return bool((_stated(recipe, node).mentioned - through) & set(quantities))


def reading(recipe: Recipe, *quantities: str) -> list[Node]:
    """The choices that themselves read one of these."""
    named = [n for n in recipe.nodes() if mentions(recipe, n, *quantities)]
    return [n for n in named if reads(recipe, n) & set(quantities)]


def no_advantage(recipe: Recipe) -> bool:
    """Whether the advantage is 0 for every response by its formula alone: what trains then needs none."""
    return all(map(is_zero, stated(recipe, recipe.advantage[0])))


def lives_by_advantage(recipe: Recipe) -> bool:
    """Whether the gate's term is 0 wherever the advantage is."""
    return all(is_zero(substitute(e, {ADVANTAGE.name: Const(0.0)})) for e in stated(recipe, recipe.gate))


def signals(recipe: Recipe, estimator: Estimator) -> bool:
    """Whether the recipe could train on an estimator: it is not always 0, or the gate does without."""
    return not is_zero(estimator.estimate()) or not lives_by_advantage(recipe)


def _names(expressions: Iterable[Expr]) -> frozenset[str]:
    return frozenset(v.name for e in expressions for v in variables(e))


def taught(recipe: Recipe) -> list[Node]:
    """The choices that a teacher is needed for: they read what it says of tokens, or let it begin responses."""
    return scored_by_teacher(recipe) + [n for n in begun(recipe) if n.choice.begin().policy == "teacher"]


def scored_by_teacher(recipe: Recipe) -> list[Node]:
    """The choices that read what a teacher says of tokens."""
    return [n for n in recipe.nodes() if any(name == LOGP_TEACHER.name or is_divergence(name)
                                             for name in reads(recipe, n))]


def begun(recipe: Recipe) -> list[Node]:
    """The stages that let another model begin responses which are sampled."""
    return [n for n in recipe.sampling if sampled(recipe) and isinstance(n.choice, Beginning)
            and n.choice.begin().policy != "current"]


def accounted(recipe: Recipe) -> bool:
    """Whether the ratio or a correction looks at the probability that a token was really sampled with."""
    return any(LOGP_ROLLOUT.name in reads(recipe, n) for n in (recipe.ratio, *recipe.distribution))


def proximal(recipe: Recipe) -> bool:
    """Whether some term, not zero, holds the policy near the one that made the data."""
    found = giving(recipe, PROXIMAL)
    return any(not isinstance(n.choice, Regulariser) or not all(map(is_zero, stated(recipe, n))) for n in found)


# ── rewards ──────────────────────────────────────────────────────────────────────────────────────────


def weighed(f: Feedback, weight: float = 1.0, span: Span | None = None) -> Iterator[tuple[Node, float, Span]]:
    """Each term that makes a reward, with what it is multiplied by and where that stands."""
    match f:
        case Node(choice=Source() | Shaping()):
            yield f, weight, span or f.span
        case Sum(parts):
            for part in parts:
                yield from weighed(part, weight, span)
        case Product(parts):
            zero = next((p for p in parts if isinstance(p, Scaled) and p.factor == 0), None)
            for part in parts:
                yield from weighed(part, 0.0 if zero else weight, zero.span if zero else span)
        case Scaled(factor, part, own):
            yield from weighed(part, weight * factor, own if factor == 0 else span or own)


# ── machines ─────────────────────────────────────────────────────────────────────────────────────────


def model_facts(recipe: Recipe, look: Callable[[str, Path], Found | None]) -> Found | None:
    """What `look` finds of the policy, seen from the project's root and from here; None where it finds nothing."""
    policy = recipe.settings.model.policy
    return None if policy is None else facts_of(recipe, policy, look)


def facts_of(recipe: Recipe, model: str, look: Callable[[str, Path], Found | None]) -> Found | None:
    """The same of any model that the recipe names."""
    folders = (project_root(Path(recipe.file)), Path())
    return next((x for f in folders if (x := look(model, f))), None)


def devices(recipe: Recipe) -> int | None:
    """GPUs of the cluster, or None where the recipe does not say."""
    cluster = recipe.settings.cluster
    return None if cluster.nodes is None or cluster.gpus_per_node is None else cluster.nodes * cluster.gpus_per_node


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────


def updates(recipe: Recipe) -> int:
    """Optimizer steps that one batch gives."""
    return recipe.settings.optim.updates_per_batch * recipe.settings.optim.epochs


def stale(recipe: Recipe) -> bool:
    """Whether what was sampled can be older than the trainer when its batch begins."""
    return sampled(recipe) and recipe.schedule.choice.lag() != 0


def cuts(recipe: Recipe) -> bool:
    """Whether responses are ever stopped and taken up again under newer weights: not by pushes that stop nothing."""
    schedule = recipe.schedule.choice
    return schedule.cuts() and not (schedule.overlaps() and recipe.placement.choice.serves() > 1)


def plural(n: int, noun: str) -> str:
    """A count with its noun: 1 GPU, 2 GPUs."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
