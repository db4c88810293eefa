"""Makes the syntax tree: one method for every named rule of recipe.lark, called with the rule's parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rldsl.diagnostics import Diagnostic, Span, at

from . import tree
from .layout import Body
from .lexer import Token
from .literals import BadLiteral, number, string

ParseBody = Callable[[Body, str], list]
"""Parses the statements of a body, each with the rule of that name."""


class Builder:
    """Builds the nodes of one file. What is wrong inside a literal goes to `diagnostics`."""

    def __init__(self, path: str, diagnostics: list[Diagnostic], parse_body: ParseBody):
        self.file = path
        self.diagnostics = diagnostics
        self.parse_body = parse_body

    def _span(self, part: Any) -> Span:
        return part.span(self.file) if isinstance(part, (Token, Body)) else part.span

    def _over(self, parts: list) -> Span:
        return self._span(parts[0]).to(self._span(parts[-1]))

    def _name(self, token: Token) -> tree.Name:
        return tree.Name(token.text, self._span(token))

    def _items(self, parts: list, rule: str) -> tuple:
        bodies = [part for part in parts if isinstance(part, Body)]
        return tuple(self.parse_body(bodies[0], rule)) if bodies else ()

    def _after(self, parts: list, word: str) -> tree.Name | None:
        """The name that follows a keyword, or None where the keyword was not written."""
        places = [i for i, part in enumerate(parts) if i > 1 and isinstance(part, Token) and part.type == word]
        return self._name(parts[places[-1] + 1]) if places else None

    def _bad_literal(self, token: Token, error: BadLiteral) -> None:
        self.diagnostics.append(at(error.code, error.message, self._span(token), fix=error.fix))

    # ── statements ───────────────────────────────────────────────────────────────────────────────────

    def import_file(self, parts: list) -> tree.Import:
        """`import "../base.rl"`."""
        return tree.Import(self.string(parts[1:]).value, True, self._over(parts))

    def import_library(self, parts: list) -> tree.Import:
        """`import std.grpo`."""
        return tree.Import(parts[1].text, False, self._over(parts))

    def let(self, parts: list) -> tree.Let:
        """`let horizon = 20k`."""
        return tree.Let(parts[1].text, parts[3], self._over(parts), self._span(parts[1]))

    def recipe(self, parts: list) -> tree.Recipe:
        """`recipe name extends parent { … }`."""
        items = self._items(parts, "recipe_item")
        doc = items[0].value if items and isinstance(items[0], tree.String) else ""
        for item in items[1:]:
            if isinstance(item, tree.String):
                self.diagnostics.append(at("RL101", "a recipe's description is the first thing in its braces",
                                           item.span, fix="move this string to the top of the recipe"))
        body = tuple(item for item in items if not isinstance(item, tree.String))
        parent = self._name(parts[3]) if len(parts) > 3 else None
        return tree.Recipe(parts[1].text, parent, doc, body, self._over(parts), self._span(parts[1]))

    def sweep(self, parts: list) -> tree.Sweep:
        """`sweep name of recipe { … }`."""
        items = self._items(parts, "sweep_item")
        return tree.Sweep(parts[1].text, self._name(parts[3]),
                          tuple(item for item in items if isinstance(item, tree.Dimension)),
                          tuple(item for item in items if isinstance(item, tree.Exclude)),
                          self._over(parts), self._span(parts[1]),
                          tuple(item for item in items if isinstance(item, tree.Entry)))

    def ablate(self, parts: list) -> tree.Ablate:
        """`ablate name from a to b { … }`."""
        return tree.Ablate(parts[1].text, self._name(parts[3]), self._name(parts[5]), self._items(parts, "entry"),
                           self._over(parts), self._span(parts[1]))

    def pipeline(self, parts: list) -> tree.Pipeline:
        """`pipeline name { … }`."""
        return tree.Pipeline(parts[1].text, self._items(parts, "pipeline_item"), self._over(parts),
                             self._span(parts[1]))

    # ── items of a body ──────────────────────────────────────────────────────────────────────────────

    def doc(self, parts: list) -> tree.String:
        """A recipe's description."""
        return self.string(parts)

    def profile(self, parts: list) -> tree.Profile:
        """`profile name { … }`."""
        return tree.Profile(parts[1].text, self._items(parts, "plain_item"), self._over(parts), self._span(parts[1]))

    def assign(self, parts: list) -> tree.Assign:
        """`gate.high = 0.3`."""
        return tree.Assign(parts[0], parts[2], self._over(parts))

    def block(self, parts: list) -> tree.Block:
        """`model { … }`."""
        return tree.Block(parts[0].text, self._items(parts, "entry"), self._over(parts), self._span(parts[0]))

    def keyed_entry(self, parts: list) -> tree.Entry:
        """`dtype: bf16`."""
        return tree.Entry(parts[0].text, parts[2], self._over(parts), self._span(parts[0]))

    def bare_entry(self, parts: list) -> tree.Entry:
        """`adamw(lr: 1e-6)`."""
        return tree.Entry(None, parts[0], self._span(parts[0]))

    def dimension(self, parts: list) -> tree.Dimension:
        """`gate.high in [0.2, 0.3]`."""
        return tree.Dimension((parts[0],), (parts[2],), self._over(parts))

    def zip(self, parts: list) -> tree.Dimension:
        """`zip { … }`: dimensions that move together."""
        together = self._items(parts, "dimension")
        return tree.Dimension(tuple(d.paths[0] for d in together), tuple(d.values[0] for d in together),
                              self._over(parts))

    def exclude(self, parts: list) -> tree.Exclude:
        """`exclude when condition`."""
        return tree.Exclude(parts[2], self._over(parts))

    def stage(self, parts: list) -> tree.Stage:
        """`stage name = recipe { … } from other`."""
        return tree.Stage(parts[1].text, parts[3], self._items(parts, "plain_item"), self._after(parts, "from"),
                          self._over(parts), self._span(parts[1]))

    # ── expressions ──────────────────────────────────────────────────────────────────────────────────

    def binary(self, parts: list) -> tree.Binary:
        """`a + b`."""
        return tree.Binary(parts[1].text, parts[0], parts[2], self._over(parts))

    def unary(self, parts: list) -> tree.Unary:
        """`-a`."""
        return tree.Unary(parts[0].text, parts[1], self._over(parts))

    def range(self, parts: list) -> tree.Range:
        """`0.5..2.0`."""
        return tree.Range(parts[0], parts[2], self._over(parts))

    def scaled_range(self, parts: list) -> tree.Range:
        """`1e-7..1e-5 log 5`."""
        return tree.Range(parts[0], parts[2], self._over(parts), parts[3].text, parts[4])

    def pow2_range(self, parts: list) -> tree.Range:
        """`pow2 64..512`."""
        return tree.Range(parts[1], parts[3], self._over(parts), "pow2")

    def number(self, parts: list) -> tree.Number:
        """`20k`; a bad one is reported and reads as 0."""
        token = parts[0]
        try:
            value, kind = number(token.text)
        except BadLiteral as error:
            self._bad_literal(token, error)
            value, kind = 0, "plain"
        return tree.Number(value, self._span(token), kind, token.text)

    def string(self, parts: list) -> tree.String:
        """`"…"`; a bad escape is reported and the text reads as empty."""
        token = parts[0]
        try:
            value = string(token.text)
        except BadLiteral as error:
            self._bad_literal(token, error)
            value = ""
        return tree.String(value, self._span(token))

    def constant(self, parts: list) -> tree.Constant:
        """`true`, `false`, `none`."""
        return tree.Constant({"true": True, "false": False, "none": None}[parts[0].text], self._span(parts[0]))

    def path(self, parts: list) -> tree.Path:
        """`feedback.format[2].reward`."""
        tokens = parts[0] if isinstance(parts[0], list) else parts
        found: list[tree.PathPart] = []
        for token in tokens:
            if token.type == "NUMBER":
                found[-1] = tree.PathPart(found[-1].name, self._index(token), found[-1].span.to(self._span(token)))
            elif token.type not in (".", "[", "]"):
                found.append(tree.PathPart(token.text, None, self._span(token)))
        return tree.Path(tuple(found), self._over(tokens))

    def _index(self, token: Token) -> int:
        if token.text.isdigit() and len(token.text) < 10 and int(token.text) > 0:
            return int(token.text)
        self.diagnostics.append(at("RL101", "an index is a whole number, counted from 1", self._span(token),
                                   fix="write `[1]` for the first"))
        return 1

    def reference(self, parts: list) -> tree.Name | tree.Path:
        """A name, or a path where it has several parts."""
        path = self.path(parts)
        first = path.parts[0]
        return path if len(path.parts) > 1 or first.index is not None else tree.Name(first.name, path.span)

    def list(self, parts: list) -> tree.ListExpr:
        """`[a, b]`."""
        return tree.ListExpr(_without_commas(parts), self._over(parts))

    def call(self, parts: list) -> tree.Call:
        """`clip(0.2, high: 0.28)`."""
        return tree.Call(parts[0].text, _without_commas(parts[1:]), self._over(parts), self._span(parts[0]))

    def named_argument(self, parts: list) -> tree.Argument:
        """`high: 0.28`."""
        return tree.Argument(parts[0].text, parts[2], self._over(parts), self._span(parts[0]))

    def plain_argument(self, parts: list) -> tree.Argument:
        """`0.2`."""
        return tree.Argument(None, parts[0], self._span(parts[0]))

    def group(self, parts: list) -> Any:
        """`( … )`: what is inside, with the span of the parentheses."""
        return replace(parts[1], span=self._over(parts))


def _without_commas(parts: list) -> tuple:
    """The nodes among the parts of a bracketed list, which arrive alone or collected."""
    flat = [x for part in parts for x in (part if isinstance(part, list) else [part])]
    return tuple(x for x in flat if not isinstance(x, Token))
