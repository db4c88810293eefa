"""A choice, or a system, written on the command line by itself, in the language's own notation."""

from __future__ import annotations

from rldsl.axes.choice import Choice
from rldsl.compiler.recipe import Node
from rldsl.diagnostics import RecipeError
from rldsl.grammar.parser import parse_expression

from .axes import READERS
from .report import Report
from .values import choice


def choice_alone(text: str, axis: str, role: type[Choice], option: str) -> Choice:
    """The choice that the text names. RecipeError with everything wrong in it, placed in the option."""
    report = Report()
    node = choice(parse_expression(text, option), axis, role, report)
    _raise(report)
    return node.choice


def system_alone(text: str, option: str) -> tuple[Node, Node]:
    """The schedule and the placement of `SCHEDULE on PLACEMENT`. RecipeError as above."""
    report = Report()
    found = READERS["system"](parse_expression(text, option), report)
    _raise(report)
    return found["schedule"], found["placement"]


def _raise(report: Report) -> None:
    if report.found:
        raise RecipeError(report.found)
