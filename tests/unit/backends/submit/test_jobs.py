"""Job files: what a scheduler reads is what the recipe says, and the command in it is one that exists."""

from __future__ import annotations

import json
import shlex
import subprocess

import pytest
import yaml

from rldsl.cli import main

RECIPE = """import std.quickstart

recipe big extends quickstart {
  distribution = tis(2.0)
  model   { policy: "Qwen/Qwen2.5-7B" }
  cluster { nodes: 4, gpus_per_node: 8, gpu: "H800-80GB" }
}

recipe small extends quickstart { seed = 2 }
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "rldsl.toml").write_text("")
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "my.rl").write_text(RECIPE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def launch(*words):
    return main.main(["launch", "recipes/my.rl:big", *words])


def runs(command):
    """The command of a job, parsed by the program itself: an argument that does not exist ends it."""
    words = shlex.split(command)
    assert words[:2] == ["rldsl", "run"] and words[2] == "recipes/my.rl:big"
    return words


def test_slurm(project):
    assert launch("--to", "slurm", "--with", "time=12:00:00", "--with", "partition=gpu",
                  "--set", "model.dtype=fp32", "--set", 'track.experiment="a b"') == 0
    text = (project / "big.slurm.sh").read_text()
    assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0
    asked = [line.removeprefix("#SBATCH --") for line in text.splitlines() if line.startswith("#SBATCH")]
    assert {"nodes=4", "gpus-per-node=8", "time=12:00:00", "partition=gpu"} <= set(asked)
    assert not any(line.startswith("account") for line in asked)
    words = runs(text.splitlines()[-1])
    assert words[3:7] == ["--set", "model.dtype=fp32", "--set", 'track.experiment="a b"'] and words[-2] == "--address"


def test_a_job_asks_for_the_processes_of_all_roles(project):
    """12 engines and ranks, 4 ranks of the reference and 24 scorers: 40 CPUs on 4 nodes."""
    sets = ("gate=clip(0.2) + kl(0.01)", "system=sync on disaggregated(rollout: 8, train: 4)", "cluster.reference=4",
            "cluster.reward=24")
    words = [word for each in sets for word in ("--set", each)]
    assert launch("--to", "slurm", *words) == 0
    assert "#SBATCH --mincpus=10\n" in (project / "big.slurm.sh").read_text()
    assert launch("--to", "kubernetes", "--with", "image=i", "--with", "folder=/project", *words) == 0
    workers, = yaml.safe_load((project / "big.rayjob.yaml").read_text())["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    container, = workers["template"]["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": 10}
    assert launch("--to", "ray", "--with", "address=http://head:8265", *words) == 0
    assert "8 GPUs and 10 CPUs" in (project / "big.ray.sh").read_text()


def test_kubernetes(project):
    assert launch("--to", "kubernetes", "--with", "image=registry/rldsl:1", "--with", "folder=/project") == 0
    found = yaml.safe_load((project / "big.rayjob.yaml").read_text())
    cluster = found["spec"]["rayClusterSpec"]
    worker, = cluster["workerGroupSpecs"]
    container, = worker["template"]["spec"]["containers"]
    assert found["kind"] == "RayJob" and "namespace" not in found["metadata"]
    assert (worker["replicas"], container["resources"]["limits"]["nvidia.com/gpu"]) == (4, 8)
    assert container["image"] == "registry/rldsl:1"
    start, command = found["spec"]["entrypoint"].split(" && ")
    assert start == "cd /project" and runs(command)[-2:] == ["--address", "auto"]


def test_ray(project, capsys):
    assert launch("--to", "ray", "--with", "address=http://head:8265", "--format", "json") == 0
    told = json.loads(capsys.readouterr().out)
    job, roles = told["job"], {r["role"]: (r["processes"], r["takes"], r["memory"]) for r in told["roles"]}
    assert roles == {"rollout": (32, "1 CPU + 0.5 GPU", "15.7 GB"), "train": (32, "1 CPU + 0.5 GPU", "3.81 GB")}
    text = (project / "big.ray.sh").read_text()
    assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0
    assert job["submit"] == f"bash {project / 'big.ray.sh'}" and "--address http://head:8265 --working-dir ." in text
    assert runs(text.split(" -- ")[1])[-1] == "auto"


def test_it_says_which_roles_the_job_has(project, capsys):
    assert launch("--to", "slurm", "--set", "feedback=verify(exact) + reward_model + zero_if(format(\".*!\"))",
                  "--set", "cluster.judge=2", "--set", 'model.reward="Qwen/Qwen2.5-0.5B"') == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0][:2] == ["role", "processes"] and ["judge", "2", "1", "CPU"] == lines[3][:4]
    assert lines[1][:2] == ["rollout", "30"] and lines[3][-1] == "Qwen/Qwen2.5-0.5B"


@pytest.mark.parametrize("words, says", [
    (["--to", "slurm", "--with", "partion=gpu"], "partition"),
    (["--to", "slurm", "--with", "time"], "has no value"),
    (["--to", "slurm", "--with", "time=1", "--with", "time=2"], "more than once"),
    (["--to", "slurm", "--with", "time=1\nrm -r x"], "no plain word"),
    (["--to", "kubernetes", "--with", "image=x"], "'folder'"),
    (["--to", "ray"], "'address'")])
def test_wrong_options_are_refused_and_nothing_is_written(project, capsys, words, says):
    assert launch(*words) == 1
    told = capsys.readouterr().err
    assert "RL205" in told and says in told
    assert not [f for f in project.iterdir() if f.name.startswith("big.")]


def test_a_recipe_for_this_machine_has_nothing_to_ask_for(project, capsys):
    assert main.main(["launch", "recipes/my.rl:small", "--to", "slurm"]) == 4
    assert "RL401" in capsys.readouterr().err


@pytest.mark.parametrize("change, code, says", [
    ("cluster.context=2", "RL406", "context: 2"), ("distribution=bitwise", "RL406", "bitwise")])
def test_what_a_run_would_refuse_is_refused_before_it_waits_for_machines(project, capsys, change, code, says):
    assert launch("--to", "slurm", "--set", change) == 4
    told = capsys.readouterr().err
    assert code in told and says in told
    assert not [f for f in project.iterdir() if f.name.startswith("big.")]


def test_a_place_that_cannot_be_written(project, capsys):
    assert launch("--to", "slurm", "--out", "nowhere/job.sh") == 4
    assert "RL407" in capsys.readouterr().err
