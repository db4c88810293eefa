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


def run_folder(project, name, text, seed, **metrics):
    """A finished run in the project's `runs`, with its MLflow id."""
    from rldsl.runtime.journal import Journal
    from rldsl.runtime.tracking import UploadState, write_state

    folder = project / "runs" / name
    folder.mkdir(parents=True)
    plan, _ = compile_recipe(typed(folder, text, sets=[f"seed={seed}"]))
    (folder / "plan.json").write_text(json.dumps(to_json(plan)))
    write_state(folder, UploadState(run_id=f"{seed}f00d"))
    with Journal(folder) as journal:
        journal.append("start", name=name)
        for step in (1, 2):
            journal.append("step", step=step, metrics={k: v * step for k, v in metrics.items()})
        journal.append("end", status="FINISHED")
    return plan


def test_runs_by_any_of_their_names_with_their_numbers_beside(tmp_path, capsys, monkeypatch):
    (tmp_path / "rldsl.toml").touch()
    monkeypatch.chdir(tmp_path)
    numbers = {"reward/mean": 0.2, "groups/uniform": 0.1}
    one = run_folder(tmp_path, "clip-a1", recipe_text("a"), 1, **numbers, odd=3.0)
    numbers = {"reward/mean": 0.3, "groups/uniform": 0.4}
    run_folder(tmp_path, "clip-b2", recipe_text("a", gate="clip(0.1)"), 2, **numbers)
    for name in ("clip-a1", "clip-a", "1f00d", one.fingerprints["experiment"], "runs/clip-a1"):
        assert main(["diff", name, "clip-b2"]) == 0, name
        out = capsys.readouterr().out
        assert "goes from 0.2 to 0.1" in out and "One run a side" in out
        table = [line.split() for line in out.splitlines()]
        assert ["reward", "0.4", "0.6", "+0.2"] in table and ["status", "finished", "finished"] in table
        assert ["uniform", "groups", "20%", "80%", "+60", "points"] in table and "odd" not in out
    assert main(["diff", "clip-a1", "clip-b2", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["metrics"]["reward/mean"] == [0.4, 0.6] and data["metrics"]["odd"] == [6.0, None]
    assert data["runs"][0] == {"name": "clip-a1", "status": "FINISHED"}


def test_a_name_that_fits_several_runs_or_none(tmp_path, capsys, monkeypatch):
    (tmp_path / "rldsl.toml").touch()
    monkeypatch.chdir(tmp_path)
    for i, name in enumerate(("clip-a1", "clip-b2"), 1):
        run_folder(tmp_path, name, recipe_text("a"), i)
    assert main(["diff", "clip-", "clip-a1"]) == 4 and "2 runs are called `clip-`" in capsys.readouterr().err
    assert main(["diff", "clip-a1", "clip_b2"]) == 4 and "clip-b2" in capsys.readouterr().err
    assert main(["diff", "nowhere.rl", "clip-a1"]) == 1 and "RL206" in capsys.readouterr().err
