"""Says what a syntax error is, in plain words: what was expected, what was found, what to write (RL101)."""

from __future__ import annotations

from rldsl.diagnostics import Diagnostic, Span, at
from rldsl.diagnostics.suggest import closest

from .lalr import END
from .layout import FILE_WORDS, OPERATORS, Body, Part, Statement

LONGEST_SHOWN = 40
COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
SCALES = frozenset({"log", "linear"})
PLACES = {"statement": "a statement (`recipe`, `let`, `import`, `sweep`, `ablate` or `pipeline`)",
          "recipe_item": "`axis = choice`, a block or a profile", "plain_item": "`axis = choice` or a block",
          "entry": "`key: value` or a bare entry",
          "sweep_item": "`path in values`, `zip { … }`, `exclude when …` or `search: …`",
          "dimension": "`path in values`", "pipeline_item": "`stage name = recipe`", "expression": "a value",
          "path": "a path like `gate.high`"}


def explain(statement: Statement, position: int, accepted: frozenset[str], rule: str, path: str) -> Diagnostic:
    """The diagnostic for an unexpected token (or an unexpected end) at `position` of a statement."""
    tokens = statement.tokens
    found = tokens[position] if position < len(tokens) else None
    previous = tokens[position - 1] if position else None
    wanted = PLACES[rule] if position == 0 else _words(accepted)
    message = f"expected {wanted}, found {_describe(found, statement.comma is not None)}"
    if position == 0 and rule == "statement":
        fix = _statement_remedy(found, tokens[1] if len(tokens) > 1 else None)
    else:
        fix = _remedy(found, previous, accepted, rule)
    return at("RL101", message, _place(statement, position, path), fix=fix)


def _place(statement: Statement, position: int, path: str) -> Span:
    tokens = statement.tokens
    if position < len(tokens):
        part = tokens[position]
        return part.opening.span(path) if isinstance(part, Body) else part.span(path)
    if statement.comma:
        return statement.comma.span(path)
    if not tokens:
        return Span(path, 1, 1, 1, 1)
    last = tokens[-1].span(path)
    return Span(path, last.end_line, last.end_column, last.end_line, last.end_column + 1)


def _describe(part: Part | None, comma: bool) -> str:
    if part is None:
        return "`,`" if comma else "the end of the statement"
    if part.type == "BODY":
        return "`{`"
    if part.type == "STRING":
        return "a string"
    return f"`{part.text}`" if len(part.text) <= LONGEST_SHOWN else f"`{part.text[:LONGEST_SHOWN]}…`"


def _words(accepted: frozenset[str]) -> str:
    """The accepted terminals as a reader would say them."""
    said = []
    if "NUMBER" in accepted:
        said.append("a value" if "NAME" in accepted else "a number")
    elif "NAME" in accepted:
        said.append("a name")
    if "STRING" in accepted and "NUMBER" not in accepted:
        said.append("a string")
    said += [f"`{word}`" for word in ("=", ":") if word in accepted]
    said += ["an operator"] if "+" in accepted else []
    said += [f"`{word}`" for word in (",", ")", "]") if word in accepted]
    said += ["`..`"] if ".." in accepted and "+" not in accepted else []
    said += ["`{`"] if "BODY" in accepted else []
    if "NAME" not in accepted:
        said += [f"`{word}`" for word in sorted(accepted - OPERATORS - SCALES) if word.isalpha() and word.islower()]
    said += ["the end of the statement"] if END in accepted else []
    return said[0] if len(said) == 1 else ", ".join(said[:-1]) + " or " + said[-1]


def _remedy(found: Part | None, previous: Part | None, accepted: frozenset[str], rule: str) -> str:
    kind = found.type if found else END
    if kind in ("=", ":") and rule == "entry":
        return "inside a block, write `key: value`"
    if kind == "=" and ":" in accepted:
        return "arguments are written `name: value`"
    if kind == ":" and "=" in accepted:
        return "outside blocks, write `axis = choice`"
    if kind == END and previous is not None and previous.type in OPERATORS | COMPARISONS:
        return "an expression ends with its line; to go on below, put it in brackets `( … )`"
    if previous is None and kind in OPERATORS - {"-"}:
        return "an expression ends with the line above; to go on here, put it in brackets `( … )`"
    if kind != END and previous is not None and (
            previous.type == "." or (kind == "-" and previous.type == "NAME")):
        return "names are letters, digits and `_`; any other text is put between double quotes"
    if kind in COMPARISONS:
        return "compare two values at a time, and join comparisons with `and`"
    if "," in accepted and kind in ("NAME", "NUMBER", "STRING"):
        return "separate values with `,`"
    return ""


def _statement_remedy(found: Part | None, following: Part | None) -> str:
    if found and found.type == "NAME" and following and following.type in ("NAME", "STRING"):
        near = closest(found.text, FILE_WORDS, 1)
        if near:
            return f"did you mean `{near[0]}`?"
    return "axes and blocks stand inside `recipe name { … }`"
