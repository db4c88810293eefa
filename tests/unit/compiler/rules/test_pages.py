"""Every code has a page, and every page's examples do what the page says."""

import re
from pathlib import Path

import pytest

import rldsl
from rldsl.compiler.check import check
from rldsl.compiler.resolve import resolve_all
from rldsl.diagnostics import RecipeError

from .sample_choices import sample_choices  # noqa: F401

SOURCE = Path(rldsl.__file__).parent
PAGES = SOURCE / "diagnostics" / "pages"
CODES = sorted(page.stem for page in PAGES.glob("*.md"))
EMITTED = re.compile(r"""["'](RL\d{3})["']""")
BLOCK = re.compile(r"^## ([^\n]+)\n\n```rl\n(.*?)^```$", re.MULTILINE | re.DOTALL)
AT_RUN = {"RL215", "RL406", "RL407", "RL408", "RL409", "RL410"} | {code for code in CODES if code.startswith("RL6")}
"""Codes that need a machine, a data set or a run, which a page cannot hold."""


def page(code):
    return (PAGES / f"{code}.md").read_text(encoding="utf-8")


def compiled(text, folder):
    path = folder / "page.rl"
    path.write_text(text, encoding="utf-8")
    try:
        return [d for recipe in resolve_all(str(path)) for d in check(recipe)]
    except RecipeError as error:
        return list(error.diagnostics)


def test_codes_in_the_source_and_pages_are_the_same():
    emitted = {code for file in SOURCE.rglob("*.py") for code in EMITTED.findall(file.read_text(encoding="utf-8"))}
    assert emitted - set(CODES) == set(), "codes without a page"
    assert set(CODES) - emitted == set(), "pages without a code"


@pytest.mark.parametrize("code", CODES)
def test_a_page_has_its_parts(code):
    text = page(code)
    assert re.match(rf"# {code} · \S", text)
    wanted = ["Example", "What to do"] if code in AT_RUN else \
        ["Warned about" if code.startswith("RL5") else "Refused", "Accepted"]
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["What it means", "Why", *wanted, "References"]


@pytest.mark.parametrize("code", [code for code in CODES if code not in AT_RUN])
def test_the_example_triggers_the_code_and_its_neighbour_does_not(code, tmp_path, sample_choices):  # noqa: F811
    (_, wrong), (_, right) = BLOCK.findall(page(code))
    assert {d.code for d in compiled(wrong, tmp_path) if d.severity != "info" or d.code == code} == {code}
    found = compiled(right, tmp_path)
    assert not [d for d in found if d.severity == "error" or d.code == code]
