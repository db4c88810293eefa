"""Imports: inside the project or the library, no circles, one flat scope."""

import os
import time

import pytest

from rldsl.compiler.resolve import resolve
from rldsl.diagnostics import RecipeError

from .project import errors, recipe_text, underlined, write


def codes(path, **options):
    return [(d.code, underlined(d)) for d in errors(path, **options)]


def test_an_import_brings_recipes_but_not_lets(tmp_path):
    write(tmp_path, base="let n = 4\n" + recipe_text("base"))
    text = 'import "base.rl"\nrecipe child extends base { sampling = group(n, max_tokens: 9) }\n'
    child = write(tmp_path, child=text)
    assert codes(child) == [("RL201", "n")]


def test_the_library_is_std(tmp_path):
    path = write(tmp_path, main="import std.grpo\nrecipe mine extends grpo { gate.high = 0.3 }\n")
    assert resolve(str(path)).gate.choice.high == 0.3


@pytest.mark.parametrize(("statement", "says"), [
    ('import "nope.rl"', "no file"), ("import std.grpp", "shipped library"), ("import grpo", "shipped library"),
    ('import "/etc/passwd"', "outside"), ('import "../outside.rl"', "outside"), ('import "."', "no file"),
])
def test_what_cannot_be_imported(tmp_path, statement, says):
    (tmp_path / "outside.rl").write_text(recipe_text("outside"))
    (tmp_path / "project").mkdir()
    path = write(tmp_path / "project", main=f"{statement}\n" + recipe_text())
    problem, = errors(path)
    assert problem.code == "RL206" and underlined(problem) == statement and says in problem.message


def test_near_names_are_offered(tmp_path):
    write(tmp_path, grpo_base=recipe_text())
    problem, = errors(write(tmp_path, main='import "grpo_bas.rl"\n' + recipe_text("x")))
    assert "grpo_base.rl" in problem.fix
    problem, = errors(write(tmp_path, main="import std.grop\n" + recipe_text("x")))
    assert "std.grpo" in problem.fix


def test_a_link_out_of_the_project_is_outside(tmp_path):
    (tmp_path / "secret.rl").write_text(recipe_text("secret"))
    inner = tmp_path / "project"
    inner.mkdir()
    os.symlink(tmp_path / "secret.rl", inner / "link.rl")
    assert [d.code for d in errors(write(inner, main='import "link.rl"\n' + recipe_text()))] == ["RL206"]


def test_the_project_is_where_rldsl_toml_is(tmp_path):
    (tmp_path / "rldsl.toml").write_text("")
    (tmp_path / "sub").mkdir()
    write(tmp_path, base=recipe_text("base"))
    path = write(tmp_path / "sub", main='import "../base.rl"\nrecipe x extends base { gate.low = 0.1 }\n')
    assert resolve(str(path)).gate.choice.low == 0.1


def test_a_circle_of_imports_is_shown(tmp_path):
    write(tmp_path, a='import "b.rl"\n' + recipe_text("ra"), b='import "a.rl"\n' + recipe_text("rb"))
    problem, = errors(tmp_path / "a.rl")
    assert problem.code == "RL206" and "a.rl → b.rl → a.rl" in problem.message


def test_a_file_that_is_reached_twice_is_read_once(tmp_path):
    write(tmp_path, base=recipe_text("base"), left='import "base.rl"\n', right='import "base.rl"\n')
    path = write(tmp_path, main='import "left.rl"\nimport "right.rl"\nrecipe x extends base { gate.low = 0.1 }\n')
    assert codes(path) == []


def test_one_name_in_two_files_shows_both(tmp_path):
    write(tmp_path, base=recipe_text("base"))
    problem, = errors(write(tmp_path, main='import "base.rl"\n' + recipe_text("base")))
    assert problem.code == "RL110" and {label.span.file.rpartition("/")[2] for label in problem.labels} \
        == {"main.rl", "base.rl"}


def test_errors_of_an_imported_file_carry_its_name(tmp_path):
    write(tmp_path, base=recipe_text("base", gate="clip(-1)"))
    path = write(tmp_path, main='import "base.rl"\nrecipe x extends base { advantage = group_mean }\n')
    problem, = errors(path)
    assert (problem.code, underlined(problem)) == ("RL204", "-1")
    assert problem.labels[0].span.file.endswith("base.rl")


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(RecipeError) as caught:
        resolve(str(tmp_path / "nope.rl"))
    assert [d.code for d in caught.value.diagnostics] == ["RL206"]


def test_syntax_errors_do_not_hide_other_errors_nor_cause_new_ones(tmp_path):
    text = recipe_text(gate="", advantage="gorup_norm").replace("recipe base {", "recipe base {\n  gate = = clip")
    assert [d.code for d in errors(write(tmp_path, main=text))] == ["RL101", "RL201"]


def test_a_hundred_files_deep_is_refused(tmp_path):
    for i in range(150):
        write(tmp_path, **{f"f{i}": f'import "f{i + 1}.rl"\n'})
    assert [d.code for d in errors(write(tmp_path, main='import "f0.rl"\n' + recipe_text()))] == ["RL103"]


def test_resolving_a_shipped_recipe_takes_milliseconds(tmp_path):
    path = str(write(tmp_path, main="import std.dapo\nrecipe x extends dapo { gate.high = 0.3 }\n"))
    resolve(path)
    started = time.perf_counter()
    resolve(path)
    assert time.perf_counter() - started < 0.1
