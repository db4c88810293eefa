"""The LALR(1) automaton: runs tokens through the parse tables and calls a builder for every rule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from .tables import Tables

END = "$END"


class Symbol(Protocol):
    """What the automaton reads: anything with a terminal's name."""

    @property
    def type(self) -> str: ...


class Unexpected(Exception):
    """A token that no rule allows here. `accepted`: the terminals that could have stood in its place."""

    def __init__(self, position: int, accepted: frozenset[str]):
        super().__init__(f"unexpected token {position}")
        self.position = position
        self.accepted = accepted


def run(tables: Tables, start: str, tokens: Iterable[Symbol], builder: object) -> Any:
    """Parses `tokens` as `start`; the value is what the builder made of it.

    A rule with a name calls the builder's method of that name with the list of its parts. A rule without one
    passes a single part on, and joins several into a list (rules that begin with `_` only collect).
    Raises: Unexpected, with the position of the token (the number of tokens when the end came too early).
    """
    states, values = [tables.starts[start]], []
    position = -1
    for position, token in enumerate(tokens):
        _reduce_all(tables, states, values, token.type, position, builder)
        states.append(tables.states[states[-1]][token.type] - 1)
        values.append(token)
    _reduce_all(tables, states, values, END, position + 1, builder)
    return values[-1]


def _reduce_all(tables: Tables, states: list[int], values: list, symbol: str, position: int, builder: object) -> None:
    """Reduces until `symbol` can be shifted."""
    before = list(states)
    while (action := tables.states[states[-1]].get(symbol, 0)) < 0:
        origin, length, name = tables.rules[-action - 1]
        parts = values[-length:]
        del states[-length:], values[-length:]
        values.append(getattr(builder, name)(parts) if name else _collect(parts))
        states.append(tables.states[states[-1]][origin] - 1)
    if action == 0:
        raise Unexpected(position, _accepted(tables, before))


def _collect(parts: list) -> Any:
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], list):
        parts[0].extend(parts[1:])
        return parts[0]
    return parts


def _accepted(tables: Tables, states: list[int]) -> frozenset[str]:
    """The terminals that can follow; the table's own row also holds lookaheads that lead nowhere."""
    row = tables.states[states[-1]]
    return frozenset(symbol for symbol in row if not symbol.startswith("<") and _shifts(tables, list(states), symbol))


def _shifts(tables: Tables, states: list[int], symbol: str) -> bool:
    while (action := tables.states[states[-1]].get(symbol, 0)) < 0:
        origin, length, _ = tables.rules[-action - 1]
        del states[-length:]
        states.append(tables.states[states[-1]][origin] - 1)
    return action > 0
