"""The typed recipe: every choice constructed and bounded, every value with the place it was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Union

from rldsl.axes.base import Wrapping
from rldsl.axes.choice import Choice
from rldsl.diagnostics import Span


@dataclass(frozen=True)
class Origin:
    """One step of a value's history: where it was set, by which means, to what (as source text)."""

    how: str  # "default" | "recipe" | "profile" | "--set"
    value: str
    span: Span | None
    recipe: str = ""


@dataclass(frozen=True)
class Node:
    """A choice as written. `spans` maps each parameter that was written to the place of its value."""

    choice: Choice
    span: Span
    spans: Mapping[str, Span] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The choice's name in the language."""
        return self.choice.name

    def where(self, parameter: str) -> Span:
        """The written value of a parameter, or the whole choice where its default holds."""
        return self.spans.get(parameter, self.span)


@dataclass(frozen=True)
class Sum:
    """Terms that are added; `apart` is a vector `[a, b]`, whose components the advantage has to see apart."""

    parts: tuple[Feedback, ...]
    apart: bool = False


@dataclass(frozen=True)
class Product:
    parts: tuple[Feedback, ...]


@dataclass(frozen=True)
class Scaled:
    factor: float
    part: Feedback
    span: Span


Feedback = Union[Node, Sum, Product, Scaled]


def feedback_nodes(f: Feedback) -> Iterator[Node]:
    """The choices of a feedback expression, in written order; a term inside another one follows it."""
    match f:
        case Node(choice):
            yield f
            if isinstance(choice, Wrapping):
                yield Node(choice.inner(), f.span)
        case Sum(parts=parts) | Product(parts):
            for part in parts:
                yield from feedback_nodes(part)
        case Scaled(_, part, _):
            yield from feedback_nodes(part)


def addends(f: Feedback) -> tuple[Feedback, ...]:
    """The terms of a sum or the components of a vector, and what is added to it; of anything else itself."""
    return tuple(x for part in f.parts for x in addends(part)) if isinstance(f, Sum) else (f,)


def vector(f: Feedback) -> tuple[Feedback, ...]:
    """The components of the vector that the feedback is, or nothing."""
    if not isinstance(f, Sum):
        return ()
    return f.parts if f.apart else next((found for part in f.parts if (found := vector(part))), ())


@dataclass(frozen=True)
class Recipe:
    """A resolved recipe: defaults, parents, profile and `--set` merged, `let` folded, all types checked.

    `settings` is the typed `Settings` of rldsl.compiler.settings; `axis_spans` is where each axis was written;
    `origins` maps a dotted path ("gate.high", "model.policy") to its history, oldest first; `lets` maps each place
    where a constant was used to the place of its `let`; `layers` is what was laid on one another, oldest first, as
    (how, recipe) of its origins; `unused` are the constants of its file that nothing mentions, with their places.
    """

    name: str
    file: str
    doc: str
    span: Span
    feedback: Feedback
    sampling: tuple[Node, ...]
    advantage: tuple[Node, ...]
    ratio: Node
    gate: Node
    regularisers: tuple[Node, ...]
    reduction: Node
    distribution: tuple[Node, ...]
    schedule: Node
    placement: Node
    settings: Any
    seed: int
    axis_spans: Mapping[str, Span]
    origins: Mapping[str, tuple[Origin, ...]]
    lets: Mapping[Span, Span] = field(default_factory=dict)
    layers: tuple[tuple[str, str], ...] = ()
    unused: Mapping[str, Span] = field(default_factory=dict)

    def where(self, path: str) -> Span:
        """Where a setting or axis ("data.prompts", "gate") was last written, or the recipe where its default holds."""
        return self.written(path) or self.span

    def written(self, path: str) -> Span | None:
        """The same, or None where nobody wrote it."""
        return next((step.span for step in reversed(self.origins.get(path, ())) if step.span), None)

    def nodes(self) -> Iterator[Node]:
        """Every choice on every axis, in axis order."""
        yield from feedback_nodes(self.feedback)
        yield from self.sampling
        yield from self.advantage
        yield self.ratio
        yield self.gate
        yield from self.regularisers
        yield self.reduction
        yield from self.distribution
        yield self.schedule
        yield self.placement
