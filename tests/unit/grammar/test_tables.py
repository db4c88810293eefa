import json
import logging
import subprocess
import sys

import lark

from rldsl.grammar import tables
from rldsl.grammar.builder import Builder


def test_the_shipped_tables_are_those_of_the_grammar(caplog):
    with caplog.at_level(logging.DEBUG, logger=lark.logger.name):
        built = tables.build(tables.GRAMMAR.read_text(encoding="utf-8"))
    assert built == json.loads(tables.SHIPPED.read_text(encoding="utf-8")), "run python -m rldsl.grammar.tables"
    assert "conflict" not in caplog.text


def test_a_changed_grammar_is_built_anew(monkeypatch, tmp_path):
    monkeypatch.setattr(tables, "SHIPPED", tmp_path / "tables.json")
    assert tables.load.__wrapped__() == tables.load()


def test_every_named_rule_has_a_method_that_builds_it():
    assert {name for _, _, name in tables.load().rules if name} <= set(dir(Builder))


def test_parsing_imports_no_parser_generator():
    program = ("import sys; from rldsl.grammar.parser import parse; parse('let a = 1', 'x');"
               "print([m for m in ('lark', 'rich', 'pydantic', 'torch', 'numpy') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
