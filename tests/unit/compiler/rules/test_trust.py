"""Code of the user's own runs where the project file says so, and nowhere else."""

import pytest

from rldsl.compiler.check import check
from rldsl.compiler.resolve import resolve

RECIPE = 'import std.quickstart\n\nrecipe own extends quickstart { feedback = python("mine.rewards:score") }\n'


def codes(folder, project):
    if project is not None:
        (folder / "rldsl.toml").write_text(project)
    (folder / "own.rl").write_text(RECIPE)
    found = [d for d in check(resolve(str(folder / "own.rl"))) if d.severity == "error"]
    return [d.code for d in found], " ".join(d.message for d in found)


@pytest.mark.parametrize("project, says", [
    (None, "does not trust"), ("", "does not trust"), ('trust = ["other"]', "does not trust"),
    ('trust = ["mine.rewards"]', "does not trust"), ("trust = true", "must be a list"),
    ("trust = [1]", "must be a list"), ("trust = [", "cannot be read")])
def test_a_package_that_is_not_named_is_refused(project, says, tmp_path):
    found, message = codes(tmp_path, project)
    assert found == ["RL206"] and says in message


def test_a_trusted_package_is_not_imported_when_a_recipe_is_read(tmp_path):
    assert codes(tmp_path, 'trust = ["mine"]') == ([], "")
