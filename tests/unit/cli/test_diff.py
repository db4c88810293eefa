"""`rldsl diff A B`: recipes of files and of the library, as text and as JSON."""

import json

from rldsl.cli.main import main

from ..compiler.resolve.project import recipe_text, write


def test_two_recipes_of_one_file(tmp_path, capsys):
    path = write(tmp_path, main=recipe_text("a") + "recipe b extends a { gate.high = 0.3 }\n")
    assert main(["diff", f"{path}:a", f"{path}:b"]) == 0
    out = capsys.readouterr().out
    assert "gate: `high` of clip goes from 0.2 to 0.3." in out and "a gain can be attributed to it" in out


def test_json_is_alone_on_stdout(tmp_path, capsys):
    path = write(tmp_path, main=recipe_text("a") + "recipe b extends a { seed = 2 }\n")
    assert main(["diff", f"{path}:a", f"{path}:b", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["version"] == 1 and data["diagnostics"] == [] and data["moves"] == ["seed"]
    assert data["changes"][0]["kind"] == "SeedChanged"


def test_a_wrong_side_is_a_diagnostic(tmp_path, capsys):
    good = write(tmp_path, main=recipe_text())
    bad = write(tmp_path, other=recipe_text(gate="klip"))
    assert main(["diff", str(good), str(bad)]) == 1
    assert "RL201" in capsys.readouterr().err
    assert main(["diff", str(good), str(tmp_path / "missing.json")]) == 4
    assert "RL407" in capsys.readouterr().err
