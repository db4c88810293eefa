"""The parse tables of recipe.lark: shipped as tables.json, rebuilt with lark only when the grammar has changed.

Loading the shipped file takes about a millisecond and does not import lark. After editing recipe.lark, write it
again with `python -m rldsl.grammar.tables`; a test holds the two together.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

GRAMMAR = Path(__file__).with_name("recipe.lark")
SHIPPED = Path(__file__).with_name("tables.json")
STARTS = ("statement", "recipe_item", "plain_item", "entry", "sweep_item", "dimension", "pipeline_item",
          "expression", "path")
CLASSES = frozenset({"NAME", "NUMBER", "STRING", "BODY", "$END"})
"""Terminals that stand for many texts."""

ACCEPT = 1
"""The action at the end of a whole parse: any shift will do, nothing is read after it."""


@dataclass(frozen=True)
class Tables:
    """LALR(1) tables. `states[s][symbol]`: n > 0 shifts (or goes) to state n − 1, n < 0 reduces by rule −n − 1.

    Terminals are named by the text they stand for (`recipe`, `=`), or NAME, NUMBER, STRING, BODY, $END;
    nonterminals are written `<name>`. A rule is [nonterminal, length, name of the builder's method].
    """

    starts: dict[str, int]
    states: list[dict[str, int]]
    rules: list[list]

    @cached_property
    def words(self) -> frozenset[str]:
        """Keywords and punctuation, so that the lexer needs no list of its own."""
        return frozenset(s for state in self.states for s in state if not s.startswith("<")) - CLASSES


@cache
def load() -> Tables:
    """The tables of the installed grammar."""
    grammar = GRAMMAR.read_text(encoding="utf-8")
    data = json.loads(SHIPPED.read_text(encoding="utf-8")) if SHIPPED.exists() else {}
    if data.get("grammar") != grammar:
        data = build(grammar)
    return Tables(data["starts"], data["states"], data["rules"])


def build(grammar: str) -> dict:
    """Builds the tables with lark, in the JSON form of tables.json.

    Raises: lark.exceptions.GrammarError if the grammar is not LALR(1).
    """
    from lark import Lark

    parser = Lark(grammar, parser="lalr", lexer="basic", start=list(STARTS), keep_all_tokens=True)
    table = parser.parser.parser._parse_table
    literal = {t.name: t.pattern.value for t in parser.terminals}
    terminals = {s.name: literal.get(s.name, s.name) for rule in parser.rules for s in rule.expansion if s.is_term}
    terminals["$END"] = "$END"
    index = {rule: i for i, rule in enumerate(parser.rules)}
    order = _state_order(table)

    def action(value: tuple) -> int:
        kind, target = value
        return order[target] + 1 if kind.name == "Shift" else -index[target] - 1

    states = [{terminals.get(symbol, f"<{symbol}>"): action(table.states[state][symbol])
               for symbol in sorted(table.states[state])} for state in order]
    for end in table.end_states.values():
        states[order[end]]["$END"] = ACCEPT
    rules = [[f"<{r.origin.name}>", len(r.expansion), r.alias or ""] for r in parser.rules]
    starts = {start: order[table.start_states[start]] for start in STARTS}
    return {"grammar": grammar, "starts": starts, "states": states, "rules": rules}


def _state_order(table: Any) -> dict[int, int]:
    """State numbers in the order they are reached, so that one grammar always gives one file."""
    order: dict[int, int] = {}
    waiting = [table.start_states[start] for start in STARTS]
    for state in waiting:
        if state not in order:
            order[state] = len(order)
            actions = table.states[state]
            waiting += [target for symbol in sorted(actions) for kind, target in [actions[symbol]]
                        if kind.name == "Shift"]
    return order


if __name__ == "__main__":
    SHIPPED.write_text(json.dumps(build(GRAMMAR.read_text(encoding="utf-8")), separators=(",", ":")) + "\n")
