"""Runs the literate specifications: each ```rl block of each page here is compiled as a file of its own.

`# error: RL301` or `# warning: RL501` at the end of a line says that these findings have their main place on that
line, and that there are no others in the block. Several codes of one severity are separated by commas. Notes, which
common recipes have, are announced by `# info: RL508` in a block whose subject they are, and else not looked at.
"""

import re
from pathlib import Path

import pytest

from rldsl.compiler.check import check
from rldsl.compiler.resolve import resolve_all
from rldsl.diagnostics import RecipeError

HERE = Path(__file__).parent
BLOCK = re.compile(r"^```rl\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXPECTED = re.compile(r"# (error|warning|info): (RL\d{3}(?:, RL\d{3})*)")
SPECS = [(page, text.count("\n", 0, match.start()) + 1, match[1]) for page in sorted(HERE.glob("*.md"))
         for text in [page.read_text(encoding="utf-8")] for match in BLOCK.finditer(text)]


def expected(text):
    """(line, severity, code) of what the comments of a block announce."""
    return sorted((i, match[1], code) for i, row in enumerate(text.split("\n"), 1)
                  for match in EXPECTED.finditer(row) for code in match[2].split(", "))


def findings(path, notes=False):
    """(line, severity, code) of what compiling a file and all its recipes finds; notes only where they are asked for.
    """
    try:
        found = [d for recipe in resolve_all(str(path)) for d in check(recipe)]
    except RecipeError as error:
        found = list(error.diagnostics)
    out = []
    for d in dict.fromkeys(d for d in found if notes or d.severity != "info"):
        primary = next(label.span for label in d.labels if label.primary)
        assert Path(primary.file).name == path.name, f"{d.code} points outside the block: {primary}"
        out.append((primary.line, d.severity, d.code))
    return sorted(out)


@pytest.mark.parametrize("page, line, text", SPECS, ids=[f"{p.name}:{line}" for p, line, _ in SPECS])
def test_block(page, line, text, tmp_path):
    path = tmp_path / "block.rl"
    path.write_text(text, encoding="utf-8")
    wanted = expected(text)
    assert findings(path, notes=any(severity == "info" for _, severity, _ in wanted)) == wanted


def test_the_pages_cover_every_rule():
    rules = {f.stem[:5].upper() for f in Path(check.__code__.co_filename).with_name("rules").glob("rl*.py")}
    covered = {code for _, _, text in SPECS for _, _, code in expected(text)}
    assert rules - covered == {"RL307", "RL332"}, "they need choices that are not shipped: tests/unit/compiler/rules"
