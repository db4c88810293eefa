"""Adding a paper's idea is adding one file: nothing else is touched, and everything knows the choice at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import rldsl.axes.gate
from rldsl.axes import discover

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "tests" / "sample_plugin"
CHOICE = (SAMPLE / "rldsl_sample" / "soft_sign.py").read_text()
RECIPE = """recipe r {{
  feedback = verify(exact)
  sampling = group(2, max_tokens: 8)
  advantage = group_mean
  ratio = token(current / old)
  gate = {gate}
  reduction = token_mean
  distribution = on_policy
  system = sync on colocated
  model {{ policy: "toy:llama-2x64" }}
  data {{ train: "toy:addition", prompts: 4 }}
  optim {{ adamw(lr: 1e-3), updates_per_batch: 2 }}
  budget {{ steps: 2 }}
}}
"""
BATCH = {"responses": [{"prompt": "p", "reward": r, "logp_current": [-1.0], "logp_old": [-1.0 - 0.6931471805599453]}
                       for r in (1, 0)]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder on the gate axis's path, with the sample choice as its only file."""
    (tmp_path / "axis").mkdir()
    (tmp_path / "axis" / "soft_sign.py").write_text(CHOICE)
    monkeypatch.setattr(rldsl.axes.gate, "__path__", [*rldsl.axes.gate.__path__, str(tmp_path / "axis")])
    discover._shipped.cache_clear()
    yield tmp_path
    discover._shipped.cache_clear()
    sys.modules.pop("rldsl.axes.gate.soft_sign", None)


def cli(*args, **kwargs):
    from rldsl.cli.main import main

    return main(list(args), **kwargs)


def test_one_new_file_is_known_to_every_command(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    Path("r.rl").write_text(RECIPE.format(gate="soft_sign(1.0)"))
    Path("typo.rl").write_text(RECIPE.format(gate="soft_sing(1.0)"))
    Path("batch.json").write_text(json.dumps(BATCH))
    assert cli("axes", "gate") == 0 and "soft_sign" in capsys.readouterr().out
    assert cli("compile", "r.rl") == 0
    assert cli("compile", "typo.rl") == 1 and "soft_sign" in capsys.readouterr().err
    assert cli("explain", "gate.soft_sign") == 0 and "Saturate the ratio" in capsys.readouterr().out
    assert cli("probe", "r.rl", "batch.json", "--format", "json") == 0
    ratio_two = json.loads(capsys.readouterr().out)["responses"][0]
    assert ratio_two["gradient"][0] == pytest.approx(-0.5 * 0.5 * 0.5)
    assert cli("diff", "r.rl", "r.rl") == 0


def test_an_installed_package_adds_a_choice_and_its_version_counts(tmp_path):
    """The sample package as pip would lay it out: its files and its entry point, in a folder on sys.path."""
    site = tmp_path / "site"
    (site / "rldsl_sample").mkdir(parents=True)
    (site / "rldsl_sample" / "__init__.py").write_text("")
    (site / "rldsl_sample" / "soft_sign.py").write_text(CHOICE)
    info = site / "rldsl_sample-0.3.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rldsl-sample\nVersion: 0.3.0\n")
    (info / "entry_points.txt").write_text('[rldsl.axes]\ngate.soft_sign = rldsl_sample.soft_sign\n')
    (tmp_path / "r.rl").write_text(RECIPE.format(gate="soft_sign"))
    prints = [_fingerprint(tmp_path, site)]
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rldsl-sample\nVersion: 0.4.0\n")
    prints.append(_fingerprint(tmp_path, site))
    assert prints[0] != prints[1]


def _fingerprint(project: Path, site: Path) -> str:
    done = subprocess.run([sys.executable, "-m", "rldsl", "compile", "r.rl"], cwd=project, capture_output=True,
                          text=True, env={"PYTHONPATH": f"{ROOT}:{site}", "PATH": ""})
    assert done.returncode == 0, done.stderr
    newest = max((project / ".rldsl" / "plans").glob("*.json"), key=lambda p: p.stat().st_mtime_ns)
    return json.loads(newest.read_text())["fingerprints"]["objective"]


def test_one_formula_is_explained_probed_and_printed(folder, monkeypatch, capsys):
    """Doubling the term of a choice at run time changes what explain prints and what probe computes."""
    monkeypatch.chdir(folder)
    Path("r.rl").write_text(RECIPE.format(gate="soft_sign"))
    Path("batch.json").write_text(json.dumps(BATCH))

    def look():
        cli("explain", "r.rl")
        formula = capsys.readouterr().out
        cli("probe", "r.rl", "batch.json", "--format", "json")
        return formula, json.loads(capsys.readouterr().out)["responses"][0]["gradient"][0]

    before = look()
    cls = discover.find("gate", "soft_sign")
    plain = cls.term
    monkeypatch.setattr(cls, "term", lambda self, r, advantage, logp: 2.0 * plain(self, r, advantage, logp))
    after = look()
    assert after[1] == pytest.approx(2 * before[1]) and after[0] != before[0]
