"""`rldsl diff A B`: recipes of files and of the library, as text and as JSON."""

import json

from rldsl.cli.main import main
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.plan import to_json

from ..compiler.resolve.project import recipe_text, typed, write


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


def planned(folder, text, name="plan"):
    """The path of a compiled recipe's plan."""
    folder.mkdir(exist_ok=True)
    plan, _ = compile_recipe(typed(folder, text))
    (folder / f"{name}.json").write_text(json.dumps(to_json(plan)))
    return folder / f"{name}.json"


def test_plans_and_run_folders(tmp_path, capsys):
    one, other = (planned(tmp_path / str(i), recipe_text(gate=g)) for i, g in enumerate(("clip", "clip(0.1)")))
    assert main(["diff", str(one), str(other.parent)]) == 0
    assert "gate: `low` of clip goes from 0.2 to 0.1." in capsys.readouterr().out


def test_a_tracked_run_is_compared_by_its_plan(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database takes seconds to set up
    from mlflow import MlflowClient

    uri = (tmp_path / "store").as_uri()
    client = MlflowClient(uri)
    run = client.create_run(client.create_experiment("x")).info.run_id
    client.log_artifact(run, str(planned(tmp_path / "a", recipe_text())))
    newer = write(tmp_path, newer=recipe_text(gate="clip(0.1)"))
    assert main(["diff", f"mlflow:{run}", str(newer), "--mlflow", uri]) == 0
    assert "goes from 0.2 to 0.1." in capsys.readouterr().out
    assert main(["diff", "mlflow:nope", str(newer), "--mlflow", uri]) == 4
    assert main(["diff", f"mlflow:{run}", str(newer), "--mlflow", f"sqlite:///{tmp_path / 'no.db'}"]) == 4
    assert capsys.readouterr().err.count("RL407") == 2 and not (tmp_path / "no.db").exists()
