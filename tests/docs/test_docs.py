"""Runs the documentation: its recipes compile or fail as they say, its commands exist, its output is what is printed.

A block ```rl is a whole file; ```rl fragment is the body of a recipe that extends the quickstart; ```rl NAME.rl is a
file that the other blocks of its page can import. `# error: RL301` at the end of a line announces a finding there.
"""

from __future__ import annotations

import os
import re
import runpy
import shlex
from pathlib import Path

import pytest

from rldsl.algebra import expr, variables
from rldsl.axes import base, discover
from rldsl.axes.choice import Choice
from rldsl.backends.local.decoder.architecture import KINDS
from rldsl.cli import main as cli
from rldsl.cli.explain import PAGES as PAGES_OF_CODES
from rldsl.compiler import settings
from rldsl.compiler.show import default_text
from rldsl.compiler.typehints import expected as expected_value
from rldsl.environments.tasks import toy_names
from rldsl.runtime.probe_file import BatchFile, Response
from tests.spec.test_spec import expected, findings

from .pages import PAGES, ROOT, blocks, files, mentions, sessions

RECIPES = blocks("rl")
SHOWN = [s for s in sessions() if s.output]
MENTIONS = list(mentions())
LINK = re.compile(r"\]\(([^)#\s]+)(?:#([^)\s]+))?\)")


def lay_out(page: Path, folder: Path) -> None:
    """The named files of a page, in a project folder."""
    (folder / "rldsl.toml").touch()
    for name, text in files(page):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("block", RECIPES, ids=[b.id for b in RECIPES])
def test_a_recipe_compiles_or_fails_as_it_says(block, tmp_path):
    lay_out(block.page, tmp_path)
    path = tmp_path / (block.says if block.says.endswith(".rl") else "block.rl")
    path.write_text(block.source(), encoding="utf-8")
    assert findings(path) == expected(block.source())


@pytest.mark.parametrize("block", [b for b in RECIPES if b.page.name == "README.md"], ids=lambda b: b.id)
def test_the_readme_shows_the_shipped_quickstart(block):
    """Every statement of it; comments are the readme's own."""
    shown = [line.partition("#")[0].split() for line in block.text.split("\n")]
    shipped = (ROOT / "recipes" / "quickstart.rl").read_text(encoding="utf-8").split("\n")
    assert [x for x in shown if x] == [x.split() for x in shipped if x.strip() and x.lstrip()[0] not in '#"']


def test_the_readme_shows_the_refusal_that_is_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shipped = (ROOT / "recipes" / "quickstart.rl").read_text(encoding="utf-8")
    (tmp_path / "refused.rl").write_text(shipped.replace("group(8, ", "single("), encoding="utf-8")
    assert cli.main(["compile", "refused.rl"]) == 1
    shown = next(b.text for b in blocks("text") if b.page.name == "README.md")
    beginning, names = shown.split("…")
    assert capsys.readouterr().err.startswith(beginning) and names == "\n"


@pytest.mark.parametrize("place, command", MENTIONS, ids=[place for place, _ in MENTIONS])
def test_a_command_line_exists(place, command):
    words = shlex.split(command.removeprefix("OMP_NUM_THREADS=1 "))[1:]
    if words[0].startswith("-") or len(words) > 1:
        parsed = _parse(words)
        assert parsed, f"{place}: {command}"
    else:
        assert words[0] in cli.commands(), f"{place}: {command}"


def _parse(words):
    try:
        return cli._parse(words)
    except SystemExit as exit:
        return exit.code == 0


@pytest.mark.parametrize("session", SHOWN, ids=[s.block.id for s in SHOWN])
def test_a_command_prints_what_is_shown(session, tmp_path, monkeypatch, capsys):
    """`…` alone on a line stands for any number of lines."""
    lay_out(session.block.page, tmp_path)
    monkeypatch.chdir(tmp_path)
    cli.main(shlex.split(session.command)[1:])
    out = capsys.readouterr()
    printed = [line.rstrip() for line in (out.err + out.out).split("\n")]
    wanted = [re.escape(line.rstrip()) for line in session.output]
    pattern = "\n".join(r"(?:.*\n)*?.*" if line == re.escape("…") else line for line in wanted)
    text = "\n".join(printed).strip("\n")
    same = bool(re.fullmatch(pattern, text))
    assert same, text


@pytest.mark.parametrize("page", [p for p in PAGES if p.exists()], ids=lambda p: p.name)
def test_code_in_the_text_stays_on_its_line(page):
    """So that every command in it is found."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert not [line for line in text.split("\n") if line.count("`") % 2]


def anchors(page: Path) -> set[str]:
    """The headings of a page as the addresses that a browser knows."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", [p for p in PAGES if p.exists()], ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        found = Path(os.path.normpath(page.parent / target))
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), f"{target}#{anchor}"


def test_the_page_of_metrics_is_what_the_program_says():
    generated = runpy.run_path(str(ROOT / "docs" / "metrics.py"))["page"]()
    assert (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8") == generated, "docs/metrics.py prints it"


def test_the_page_of_capabilities_is_what_the_choices_say():
    """Row by row: a choice that is new is not on the page before the page is printed again."""
    row = runpy.run_path(str(ROOT / "docs" / "capabilities.py"))["row"]
    parts = re.split(r"^## (\w+)$", (ROOT / "docs" / "capabilities.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    shown = {(axis, line.split("`")[1]): line for axis, text in zip(parts[1::2], parts[2::2], strict=True)
             for line in text.split("\n") if line.startswith("| `") and not line.startswith("| choice")}
    assert tuple(parts[1::2]) == discover.FAMILIES and len(shown) > 100
    assert shown == {key: row(*key) for key in shown}, "docs/capabilities.py prints it"


def _rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    part = re.split(r"^#+ ", text.partition(f"\n### {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    lines = [line for line in part.split("\n") if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


@pytest.mark.parametrize("block", settings.blocks(), ids=str)
def test_every_setting_has_its_row(block):
    """With what it accepts and its default, as the program has them."""
    cls = settings.blocks()[block]
    wanted = [[f"`{key}`", expected_value(settings.hints(cls)[key]), default_text(cls, key)]
              for key in settings.keys(cls)]
    rows = _rows("language.md", "feedback, the block" if block == "feedback" else block)
    shown = [[key, accepts, default.strip("`").strip('"')] for key, accepts, default, *_ in rows]
    if block == "feedback":
        wanted[0][2] += "s"  # a duration is written with its unit
    assert shown == wanted


def test_every_detector_is_named():
    text = (ROOT / "docs" / "language.md").read_text(encoding="utf-8").partition("\n### health\n")[2]
    listed = re.findall(r"^- `(\w+)`:", text.partition("\n### ")[0], re.MULTILINE)
    assert sorted(listed) == list(discover.names("detector"))


def test_every_toy_task_and_model_is_named():
    text = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    tasks = re.search(r"a built-in task \(([^)]*)\)", text)[1]
    assert re.findall(r"`(\w+)`", tasks) == toy_names()
    assert re.findall(r"`(\w+)`", re.search(r"KIND is([^;]*);", text)[1]) == list(KINDS)


QUOTED = [b for language in ("python", "toml") for b in blocks(language) if (ROOT / b.says).is_file()]


@pytest.mark.parametrize("block", QUOTED, ids=[b.id for b in QUOTED])
def test_quoted_code_is_the_code(block):
    assert block.text in (ROOT / block.says).read_text(encoding="utf-8")


def test_every_input_of_probe_is_named():
    text = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8").partition("\n## probe\n")[2]
    fields = {*Response.model_fields, *BatchFile.model_fields}
    assert not [name for name in fields if f"`{name}`" not in text and f'"{name}"' not in text]


def test_every_code_of_a_run_is_in_the_table():
    text = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8").partition("\n## What stops a run\n")[2]
    assert re.findall(r"^\| (RL\d+)", text, re.MULTILINE) == sorted(p.stem for p in PAGES_OF_CODES.glob("RL6*.md"))


def test_every_base_class_is_in_the_table():
    text = (ROOT / "docs" / "adding-a-choice.md").read_text(encoding="utf-8")
    kinds = [name for name, cls in vars(base).items() if isinstance(cls, type) and issubclass(cls, Choice)
             and cls is not Choice and cls.__module__ == base.__name__]
    assert not [name for name in kinds if f"| `{name}` |" not in text]


def _names(row: str) -> list[str]:
    return re.findall(r"`([A-Za-z_]+)[`(]", row)


def test_base_classes_quantities_and_functions_exist():
    text = (ROOT / "docs" / "adding-a-choice.md").read_text(encoding="utf-8")
    for kind, methods in re.findall(r"^\| \w+ \| `(\w+)` \| (.*?) \|", text, re.MULTILINE):
        assert all(callable(getattr(getattr(base, kind), name)) for name in _names(methods)), kind
    quantities, functions = (re.split(r"\n\n", text.partition(head)[2], maxsplit=1)[0]
                             for head in ("| quantity |", "| function |"))
    for row in quantities.split("\n")[2:]:
        assert all(hasattr(variables, name) for name in _names(row.split("|")[1])), row
    for row in functions.split("\n")[2:]:
        assert all(hasattr(expr, name) for name in _names(row.split("|")[1])), row
