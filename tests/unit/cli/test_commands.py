import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rldsl.cli import main as module
from rldsl.cli.main import commands, main
from rldsl.diagnostics import at
from rldsl.runtime.errors import RunError

RECIPE = """recipe small {
  "A small one."
  feedback     = verify(exact)
  sampling     = group(4, max_tokens: 4)
  advantage    = group_mean
  ratio        = token(current / old)
  gate         = clip(0.2)
  reduction    = token_mean
  distribution = on_policy
  system       = sync on colocated
  model  { policy: "toy:llama-2x64" }
  data   { train: "toy:addition", prompts: 8 }
  optim  { adamw(lr: 1e-3), updates_per_batch: 2 }
  budget { steps: 2 }
}

recipe wider extends small { gate.high = 0.3 }
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "rldsl.toml").write_text("")
    (tmp_path / "a.rl").write_text(RECIPE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_compile_writes_a_plan_for_every_recipe_of_the_project(project, capsys):
    (project / "sub").mkdir()
    (project / "sub" / "b.rl").write_text(RECIPE.replace("small", "other").replace("wider", "broader"))
    (project / ".hidden").mkdir()
    (project / ".hidden" / "c.rl").write_text("nonsense")
    assert main(["compile"]) == 0
    assert sorted(p.name.rpartition("-")[0] for p in (project / ".rldsl" / "plans").iterdir()) == [
        "broader", "other", "small", "wider"]
    assert "a.rl:small" in capsys.readouterr().out


def test_compile_one_recipe_with_changes(project, capsys):
    assert main(["compile", "a.rl:wider", "--set", "gate.high=0.4", "--format", "json"]) == 0
    out = json.loads(capsys.readouterr().out)
    assert out["version"] == 1 and out["diagnostics"] == []
    plan = json.loads(Path(out["plans"][0]["plan"]).read_text())
    assert plan["sets"] == ["gate.high=0.4"] and plan["name"] == "wider"


def test_all_errors_of_a_project_are_reported_at_once_and_exit_1(project, capsys):
    (project / "b.rl").write_text("recipe x extends nobody { }\n")
    (project / "c.rl").write_text(RECIPE.replace("clip(0.2)", "clipp(0.2)"))
    assert main(["compile", "--format", "json"]) == 1
    out = json.loads(capsys.readouterr().out)
    assert {d["code"] for d in out["diagnostics"]} == {"RL201"}
    assert {d["spans"][0]["file"] for d in out["diagnostics"]} == {"b.rl", "c.rl"}
    assert {p["name"] for p in out["plans"]} == {"small", "wider"}


def test_concise_is_one_line_each_and_sarif_is_one_object(project, capsys):
    (project / "b.rl").write_text("recipe x extends nobody { }\n")
    assert main(["compile", "--format", "concise"]) == 1
    assert capsys.readouterr().err.splitlines()[0].startswith("b.rl:1:18: error[RL201]:")
    assert main(["compile", "--format", "sarif"]) == 1
    assert json.loads(capsys.readouterr().out)["runs"][0]["results"][0]["ruleId"] == "RL201"
    assert main(["compile", "a.rl", "--format", "sarif"]) == 0
    assert json.loads(capsys.readouterr().out)["version"] == "2.1.0"


def test_a_wrong_override_points_into_the_command_line(project, capsys):
    assert main(["compile", "a.rl:small", "--set", "gate.hgih=0.4"]) == 1
    assert "gate.hgih=0.4" in capsys.readouterr().err


def test_an_empty_project_says_how_to_begin(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["compile"]) == 1
    assert "rldsl new" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_a_diagnostic(project, capsys):
    (project / ".rldsl").write_text("a file in the way")
    assert main(["compile", "a.rl:small"]) == 4
    assert "RL407" in capsys.readouterr().err


def test_explain_shows_the_recipe_its_values_choices_and_pages(project, capsys):
    assert main(["explain", "a.rl:small"]) == 0
    assert "J = Σ_t wₜ·min(rₜ·Aₜ" in capsys.readouterr().out
    assert main(["explain", "a.rl:wider", "gate.high"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("gate.high = 0.3\n") and "a.rl:17" in out and "default" in out
    assert main(["explain", "gate.clip"]) == 0
    assert "term = min(rₜ·Aₜ, clip(rₜ, 1 − low, 1 + high)·Aₜ)" in capsys.readouterr().out


@pytest.mark.parametrize("args", [["RL301", "gate.high"], ["gate.clip", "--set", "gate.high=1"],
                                  ["RL301", "--profile", "toy"], ["a.rl:wider", "gate.high", "--html", "page.html"]])
def test_explain_reads_all_that_it_is_given(project, capsys, args):
    assert main(["explain", *args]) == 1 and "RL208" in capsys.readouterr().err
    assert not (project / "page.html").exists()


def test_explain_writes_a_page(project, capsys):
    assert main(["explain", "a.rl:small", "--html", "page.html"]) == 0
    assert (project / "page.html").read_text().startswith("<!doctype html>")
    assert main(["explain", "a.rl:small", "--html", "no/page.html"]) == 4


@pytest.mark.parametrize("args, near", [(["gate.clp"], "`clip`"), (["RL999"], "RL999"), (["a.rl:smal"], "`small`"),
                                        (["a.rl:small", "gate.hihg"], "`gate.high`")])
def test_explain_what_does_not_exist(project, capsys, args, near):
    assert main(["explain", *args]) == 1
    assert near in capsys.readouterr().err


@pytest.mark.parametrize("args", [["a.rl:small"], ["gate.clip"], ["a.rl:small", "gate.high"]])
def test_explain_as_json(project, capsys, args):
    assert main(["explain", *args, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["version"] == 1


def test_axes_lists_the_vocabulary(capsys):
    assert main(["axes", "gate", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["axes"]["gate"]
    names = [c["name"] for c in found]
    runs = {c["name"]: c["backends"]["local"] for c in found}
    assert runs["clip"] == {"runs": "yes", "beside": [], "lacks": []}
    assert runs["dpo"] == {"runs": "yes", "beside": ["`offline`"], "lacks": []}
    assert runs["step_dpo"] == {"runs": "yes", "beside": ["`offline`", "`steps`"], "lacks": []}
    assert "clip" in names and names == sorted(names)
    assert main(["axes", "gat"]) == 1
    assert "`gate`" in capsys.readouterr().err


def test_a_new_project_compiles(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "my-first"]) == 0
    monkeypatch.chdir(tmp_path / "my-first")
    assert main(["compile", "--preflight"]) == 0
    assert "my_first.rl:my_first" in capsys.readouterr().out


def test_new_speaks_json_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "mine", "--format", "json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["folder"] == "mine" and {"mine.rl", "rldsl.toml"} <= set(made["files"]) and made["diagnostics"] == []
    assert main(["new", "mine", "--format", "json"]) == 2
    out, err = capsys.readouterr()
    assert [d["code"] for d in json.loads(out)["diagnostics"]] == ["RL612"] and not err


def test_new_never_overwrites(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "x").write_text("")
    assert main(["new", "mine"]) == 2
    assert (tmp_path / "mine" / "x").read_text() == "" and len(list((tmp_path / "mine").iterdir())) == 1


@pytest.mark.parametrize("place, code", [('data.train="nowhere.jsonl"', "RL407"), ("model.max_prompt=3", "RL408")])
def test_preflight_opens_what_the_recipe_names(project, capsys, place, code):
    assert main(["compile", "a.rl:small", "--preflight", "--set", place]) == 4
    assert code in capsys.readouterr().err
    assert not (project / ".rldsl").exists()


def test_preflight_needs_what_training_needs(project, capsys):
    (project / "a.rl").write_text(RECIPE.replace("budget { steps: 2 }", ""))
    assert main(["compile", "a.rl:small", "--preflight"]) == 1
    assert "budget.steps" in capsys.readouterr().err


def test_usage(capsys):
    assert main([]) == 2 and main(["frobnicate"]) == 2 and main(["compile", "--nonsense"]) == 2
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"  {name} " in out for name in commands())


def test_every_command_says_what_it_does():
    assert all(says.endswith((".", "`.")) and len(says) < 120 for says in commands().values())


def test_a_bug_leaves_a_file_and_no_traceback(monkeypatch, capsys):
    monkeypatch.setattr(module, "_parse", lambda argv: 1 / 0)
    assert main(["compile"]) == 3
    err = capsys.readouterr().err
    assert "bug in rldsl: ZeroDivisionError" in err and "Traceback" not in err
    report = Path(next(word for word in err.split() if "rldsl-crash-" in word))
    assert "Traceback" in report.read_text()
    report.unlink()


def test_an_error_of_a_run_ends_in_3(monkeypatch, capsys):
    def fail(argv):
        raise RunError(at("RL601", "the loss of batch 3 is not a number", None))

    monkeypatch.setattr(module, "_parse", fail)
    assert main(["run"]) == 3
    assert "RL601" in capsys.readouterr().err


def python(project, args, **env):
    root = Path(module.__file__).parents[2]
    return subprocess.run([sys.executable, "-m", "rldsl", *args], capture_output=True, timeout=60, cwd=project,
                          env={**os.environ, "PYTHONPATH": str(root), **env})


def test_a_terminal_without_unicode_still_gets_an_answer(project):
    out = python(project, ["explain", "a.rl:small"], PYTHONIOENCODING="ascii")
    assert out.returncode == 0 and b"J = " in out.stdout


def test_the_module_runs_as_the_command(project):
    assert python(project, ["--version"]).stdout.startswith(b"rldsl ")


def test_the_thread_setting_is_a_default_only(monkeypatch):
    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    main(["--version"])
    assert os.environ["GOMP_SPINCOUNT"] == "7"
    monkeypatch.delenv("GOMP_SPINCOUNT")
    main(["--version"])
    assert os.environ["GOMP_SPINCOUNT"] == "5000"


HEAVY = ("torch", "transformers", "mlflow", "numpy", "ray", "vllm")


@pytest.mark.parametrize("args", [["compile", "a.rl:small"], ["explain", "a.rl:small"], ["axes"]])
def test_commands_that_only_read_load_nothing_heavy(project, args):
    code = (f"import sys; from rldsl.cli.main import main; rc = main({args}); "
            f"print(rc, [m for m in {HEAVY} if m in sys.modules])")
    root = Path(module.__file__).parents[2]
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                         env={**os.environ, "PYTHONPATH": str(root)})
    assert out.stdout.splitlines()[-1] == "0 []", out.stderr
