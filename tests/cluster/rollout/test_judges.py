"""Processes that are asked: the numbers of the embedded backend, new weights, deaths and hangs. Really killed."""

from __future__ import annotations

import os
import signal

import pytest
import ray
import torch

from rldsl.backends.cluster.judging import judges as front
from rldsl.backends.cluster.judging.begun import Begun
from rldsl.backends.cluster.judging.judges import Judges, spawner
from rldsl.backends.cluster.judging.seats import seat
from rldsl.backends.cluster.model_folder import source
from rldsl.backends.cluster.placement import reserve
from rldsl.backends.cluster.weights import Weights, pack
from rldsl.backends.local.data import examples
from rldsl.backends.local.formats.hf_weights import exported
from rldsl.backends.local.warm_start import warm_start
from rldsl.compiler.canonical import from_canonical
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.resolve import resolve
from rldsl.compiler.roles import JUDGE, Role
from rldsl.runtime.errors import RunError
from rldsl.runtime.protocols import Cutting
from rldsl.runtime.trajectory import Request, SamplingOptions
from tests.learning.training import opened

RECIPE = """recipe r {
  feedback     = (judge(rubric: ["{response}?"]) + reward_model
    + self_judge(rubric: ["{response}?"], weights: current) + self_judge(rubric: ["{response}!"], weights: initial))
  sampling     = group(4, max_tokens: 6) | prefix(tokens: 2)
  advantage    = group_norm
  ratio        = token(current / old)
  gate         = none
  reduction    = token_mean
  distribution = tis(2.0)
  system       = SYSTEM
  model { policy: "toy:llama-2x32", dtype: float32, judge: "toy:llama-1x32", reward: "toy:llama-1x16",
    judge_warm_start: 3, teachers: ["toy:llama-1x32"], teacher_warm_start: 2 }
  data { train: "toy:reverse", prompts: 4 }
  optim { adamw(lr: 1e-3) }
  budget { steps: 2 }
  cluster { CLUSTER }
}
"""
CUT, OPTIONS = Cutting(None, balance=False, share_prompts=True), SamplingOptions(1.0, 4)
ASKED = [(f"{k} is what?", word) for k in range(30) for word in ("yes", "no")]
TEXTS = [(f"{k}+1=", str(k + 1)) for k in range(9)]
REQUESTS = [Request(g, g, (5, 6, 7 + g), 1) for g in range(7)]


@pytest.fixture(scope="module")
def embedded(tmp_path_factory):
    """One process with the same models."""
    text = RECIPE.replace("SYSTEM", "sync on colocated").replace("CLUSTER", "local")
    with opened(tmp_path_factory.mktemp("embedded"), text) as run:
        yield run.trainer


@pytest.fixture(scope="module")
def judges(cluster, tmp_path_factory):
    """Two processes, and what was told of them."""
    from ray.util.placement_group import remove_placement_group

    folder, said = tmp_path_factory.mktemp("run"), []
    text = RECIPE.replace("SYSTEM", "sync on disaggregated(rollout: 1, train: 1)").replace("CLUSTER", "nodes: 1")
    (folder / "r.rl").write_text(text)
    plan, _ = compile_recipe(resolve(str(folder / "r.rl"), None))
    recipe = from_canonical(plan.recipe)
    found = source("toy:llama-2x32", "float32", plan.seed, folder, folder / "model", None)
    spec = seat(plan, recipe, folder, folder, found, lambda policy, tokenizer: warm_start(
        policy, examples(recipe, folder, found), 2), lambda *_: None)
    reserved = reserve((Role(JUDGE, 2),))
    made = Judges(2, spawner(spec, reserved), said.append)
    made.begin()
    yield made, said
    made.close()
    remove_placement_group(reserved.group)


def test_every_model_says_what_it_says_in_one_process(judges, embedded):
    """The same code on the same weights, also of those that were trained before the run."""
    ours, _ = judges
    for role in ("judge", "policy", "initial"):
        said = ours.replies(role, ASKED, CUT)
        assert said == pytest.approx(embedded.replies(role, ASKED, CUT), abs=1e-5)
        assert len(set(said)) > 30 and None not in said
    assert ours.replies("judge", ASKED, CUT) != ours.replies("policy", ASKED, CUT)
    assert ours.replies("judge", [("x" * 600, "y"), ("x", "y")], CUT)[0] is None, "longer than its context"
    assert ours.valued(TEXTS, CUT) == pytest.approx(embedded.valued(TEXTS, CUT), abs=1e-5)
    assert ours.replies("judge", [], CUT) == []


def test_a_teacher_begins_responses_as_it_does_in_one_process(judges, embedded):
    """The same tokens, and log-probs and version of when they were drawn."""
    ours, _ = judges
    begun = Begun(type("Engines", (), {"version": 3})(), ours)
    found = begun.sample(REQUESTS, OPTIONS, batch=1, policy="teacher")
    theirs = embedded.sample(REQUESTS, OPTIONS, batch=1, policy="teacher")
    assert [(t.group, t.tokens, t.text) for t in found] == [(t.group, t.tokens, t.text) for t in theirs]
    assert {v for t in found for v in t.versions} == {3}
    for mine, other in zip(found, theirs, strict=True):
        assert mine.logps == pytest.approx(other.logps, abs=1e-5)


def test_what_judges_itself_is_asked_as_the_newest_version(judges, embedded):
    ours, _ = judges
    before = {role: ours.replies(role, ASKED, CUT) for role in ("policy", "initial")}
    with torch.no_grad():
        embedded.policy.embed.add_(0.1 * torch.randn_like(embedded.policy.embed))
    manifest, flat = pack(exported(embedded.policy), "float32")
    ours.follow(4, Weights(manifest, ray.put(flat)))
    assert ours.replies("policy", ASKED, CUT) == pytest.approx(embedded.replies("policy", ASKED, CUT), abs=1e-5)
    assert ours.replies("policy", ASKED, CUT) != before["policy"]
    assert ours.replies("initial", ASKED, CUT) == before["initial"]


def test_one_that_hangs_is_named(judges, monkeypatch):
    ours, said = judges
    pid = ray.get(ours.actors()[1].pid.remote())
    monkeypatch.setattr(ours, "deadline", 1.0)
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(RunError, match="RL604") as caught:
        ours.replies("judge", ASKED, CUT)
    os.kill(pid, signal.SIGCONT)
    assert "judge 1 has not moved" in str(caught.value) and not said


def test_one_that_is_killed_is_replaced_and_asked_again_until_it_died_too_often(judges, embedded, monkeypatch):
    ours, said = judges
    expected = ours.replies("policy", ASKED, CUT)
    os.kill(ray.get(ours.actors()[0].pid.remote()), signal.SIGKILL)
    assert ours.replies("policy", ASKED, CUT) == expected, "its successor has the newest weights too"
    assert [(d.code, d.severity) for d in said] == [("RL605", "warning")] and "judge 0 died" in said[0].message
    monkeypatch.setattr(front, "DEATHS", 1)
    os.kill(ray.get(ours.actors()[0].pid.remote()), signal.SIGKILL)
    with pytest.raises(RunError, match="RL605") as caught:
        ours.replies("policy", ASKED, CUT)
    assert "judge 0 died" in str(caught.value) and len(said) == 1
