"""What one process can run of the vocabulary, read off the choices themselves; imports no torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from rldsl.algebra.expr import GROUP, POSITION, RESPONSE, TOKEN, UPDATE, Const
from rldsl.algebra.grain import grains, variables
from rldsl.algebra.simplify import simplify
from rldsl.axes import discover
from rldsl.axes.alignment import Alignment
from rldsl.axes.base import Placement, Ratio, Sampler, Schedule
from rldsl.axes.choice import Choice
from rldsl.axes.structure import Dividing
from rldsl.compiler.formulas import formulas
from rldsl.compiler.lower import provided

WHOLE = {TOKEN, RESPONSE, POSITION, GROUP, UPDATE}
"""The units that every batch is divided into."""


@dataclass(frozen=True)
class Capability:
    """`runs` is "yes", "some" (not with all parameters of its examples) or "no". `beside` names the samplers of which
    one must stand beside the choice, `lacks` says what is missing, each in words."""

    runs: str
    beside: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


ALIGNED = {"head_dtype", "weights", "replay_candidates", "bit_equal"}
"""What alignment may ask of this engine. Nothing routes here."""


def apart(choice: Choice) -> str | None:
    """Why a choice needs more than one process, or another engine; None where it does not."""
    if isinstance(choice, Alignment) and not choice.engines().keys() <= ALIGNED:
        return f"its engine cannot do what {choice.name} asks ({', '.join(choice.engines().keys() - ALIGNED)})"
    if choice.engine:
        return f"`{choice.name}` needs {choice.engine}"
    if isinstance(choice, Schedule) and choice.overlaps():
        return f"`{choice.name}` samples while it trains"
    if isinstance(choice, Schedule) and choice.keeps_state():
        return f"`{choice.name}` goes on from an engine's state, and here stopped responses are computed again"
    if isinstance(choice, Placement) and not choice.shared():
        return f"`{choice.name}` keeps sampling and training apart"
    return None


def capability(axis: str, name: str) -> Capability:
    """What a run on this machine can do with a choice of the vocabulary, over the parameters of its examples."""
    each = [_needs(choice) for choice in _samples(axis, name)]
    lacks = [text for beside, missing in each for text in missing]
    runs = "yes" if not lacks else "no" if all(missing for _, missing in each) else "some"
    beside = dict.fromkeys(s for samplers, _ in each for s in samplers)
    return Capability(runs, tuple(beside), tuple(dict.fromkeys(lacks)))


@cache
def _samples(axis: str, name: str) -> tuple[Choice, ...]:
    """The choice with the parameters of each of its examples; without examples each number is 1."""
    cls, examples = discover.find(axis, name), discover.examples(axis, name)
    return tuple(cls(**e.params) for e in examples) or (cls(**dict.fromkeys(cls.__dataclass_fields__, 1)),)


def _needs(choice: Choice) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(samplers of which one gives what it needs, what nothing gives)."""
    told = apart(choice)
    beside, missing = [], [told] if told else []
    for what in sorted(_asks(choice)):
        samplers = _givers(what)
        if samplers:
            beside.append(" or ".join(f"`{s}`" for s in samplers))
        else:
            missing.append(f"nothing provides {what}")
    return tuple(beside), tuple(missing)


def _asks(choice: Choice) -> Iterator[str]:
    """The quantities and units of a choice's formulas that not every batch has."""
    ratio = None if isinstance(choice, Ratio) else Const(1.0)
    found = [simplify(e) for e in formulas(choice, ratio).values()]
    read = {v.name for e in found for v in variables(e)}
    yield from (f"`{name}`" for name in read if not provided(name, Sampler()))
    yield from (f"{unit}s" for unit in {g for e in found for g in grains(e)} - WHOLE)


@cache
def _givers(what: str) -> tuple[str, ...]:
    """The choices of sampling that run here and, with some parameters, give a quantity or a unit."""
    found = []
    for name in discover.names("sampling"):
        for choice in _samples("sampling", name):
            given = choice.provides() if isinstance(choice, Sampler) else ()
            units = choice.divides() if isinstance(choice, (Sampler, Dividing)) else ()
            if apart(choice) is None and what in {*(f"`{v}`" for v in given), *(f"{unit}s" for unit in units)}:
                found.append(name)
    return tuple(dict.fromkeys(found))
