"""Reads recipe text into the syntax tree, reporting every independent error of a file in one go."""

from __future__ import annotations

from typing import Any

from rldsl.diagnostics import Diagnostic, RecipeError, Span

from . import tree
from .builder import Builder
from .duplicates import find_duplicates
from .expected import explain
from .lalr import Unexpected, run
from .layout import Body, Statement, arrange
from .lexer import MAX_ERRORS, NEWLINE, tokenize
from .read import size_problem
from .tables import load

ITEM_RULES = {"recipe": "recipe_item", "sweep": "sweep_item", "ablate": "entry", "pipeline": "pipeline_item",
              "profile": "plain_item", "stage": "plain_item", "zip": "dimension"}
"""What stands in the braces after a statement that begins with this word; anything else opens a block."""


def parse(text: str, path: str) -> tuple[tree.File, list[Diagnostic]]:
    """The tree of what could be read, and what is wrong, in file order. Never raises on bad input."""
    problem = size_problem(text, path)
    if problem:
        return _file(path, text, whole=False), [problem]
    found = tokenize(text, path)
    layout = arrange(found.tokens, path)
    if layout.too_deep:
        return _file(path, text, whole=False), layout.diagnostics
    reader = _Reader(path, found.diagnostics + layout.diagnostics)
    statements = reader.statements(layout.statements, "statement")
    whole = not layout.diagnostics
    diagnostics = reader.diagnostics + (find_duplicates(statements) if whole else [])
    comments = tuple((token.span(path), token.text) for token in found.comments)
    file = _file(path, text, tuple(statements), comments, whole=whole)
    return file, sorted(diagnostics, key=lambda d: d.position)[:MAX_ERRORS]


def parse_expression(text: str, path: str = "--set") -> tree.Expr:
    """One expression, as in the value of `--set axis.param=value`.

    Raises: RecipeError with everything wrong in it.
    """
    return _parse_one(text, path, "expression")


def parse_path(text: str, path: str = "--set") -> tree.Path:
    """One path, `gate.high` or `feedback.format[2].reward`, as before the `=` of `--set`.

    Raises: RecipeError with everything wrong in it.
    """
    return _parse_one(text, path, "path")


def _parse_one(text: str, path: str, rule: str) -> Any:
    problem = size_problem(text, path)
    if problem:
        raise RecipeError([problem])
    found = tokenize(text, path)
    layout = arrange([token for token in found.tokens if token.type != NEWLINE], path)
    reader = _Reader(path, found.diagnostics + layout.diagnostics)
    statements = layout.statements or [Statement()]
    if len(statements) > 1 and not reader.diagnostics:
        statements[0].tokens.append(statements[0].comma)
    values = [] if layout.too_deep else reader.statements(statements[:1], rule)
    if reader.diagnostics:
        raise RecipeError(reader.diagnostics)
    return values[0]


def _file(path: str, text: str, statements: tuple = (), comments: tuple = (), *, whole: bool) -> tree.File:
    lines = text.split("\n")
    return tree.File(path, text, statements, Span(path, 1, 1, len(lines), len(lines[-1]) + 1), comments, whole)


class _Reader:
    """Parses statements one by one, so that one error costs one statement."""

    def __init__(self, path: str, diagnostics: list[Diagnostic]):
        self.path = path
        self.diagnostics = diagnostics
        self.tables = load()
        self.builder = Builder(path, diagnostics, self._body)

    def statements(self, statements: list[Statement], rule: str) -> list:
        """What each statement means under the rule; those with errors are left out."""
        return [node for statement in statements for node in self._statement(statement, rule)]

    def _body(self, body: Body, rule: str) -> list:
        return self.statements(body.statements, rule)

    def _statement(self, statement: Statement, rule: str) -> list:
        before = len(self.diagnostics)
        if before >= MAX_ERRORS:
            return []
        if not statement.broken:
            try:
                return [run(self.tables, rule, statement.tokens, self.builder)]
            except Unexpected as error:
                del self.diagnostics[before:]
                self.diagnostics.append(explain(statement, error.position, error.accepted, rule, self.path))
        self._errors_inside(statement, rule)
        return []

    def _errors_inside(self, statement: Statement, rule: str) -> None:
        """The head of a statement is wrong; its braces may hold errors of their own."""
        other = "recipe_item" if rule == "statement" else "entry"
        for token in statement.tokens:
            if isinstance(token, Body):
                self._body(token, ITEM_RULES.get(statement.tokens[0].type, other))
