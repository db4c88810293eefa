"""Parts of the cluster backend that need no engine: answers, settings, seeds, roles, the choice of a backend."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from rldsl.backends.choose import opener
from rldsl.backends.cluster.answers import require_sound
from rldsl.backends.cluster.capability import lacks
from rldsl.backends.cluster.deaths import own_words, reason
from rldsl.backends.cluster.placement import Role, roles
from rldsl.backends.cluster.ray_session import _start
from rldsl.backends.cluster.settings import require_same, stated
from rldsl.backends.cluster.streams import Stream
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.resolve import resolve
from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.runtime.errors import RunError
from rldsl.runtime.trajectory import Prefix, Request, SamplingOptions, Trajectory

OPTIONS = SamplingOptions(temperature=0.7, max_tokens=6, top_p=0.9)
BEGUN = Prefix((5, 6), (-1.0, -2.0), (3, 3))
STREAM = Stream(4, Request(1, 2, (7, 8), 1, first=3, prefix=BEGUN), OPTIONS, batch=0)
SOUND = Trajectory(1, 3, 2, (7, 8), (5, 6, 9, 0), (-1.0, -2.0, -0.5, -0.1), (3, 3, 4, 4), "stop", "x")
RECIPE = """recipe r {{
  feedback     = verify(exact)
  sampling     = group(4, max_tokens: 6)
  advantage    = group_norm
  ratio        = token(current / old)
  gate         = clip(0.2)
  reduction    = token_mean
  distribution = tis(2.0)
  system       = {system}
  model {{ policy: "toy:llama-2x128" }}
  data {{ train: "toy:reverse", prompts: 4 }}
  optim {{ adamw(lr: 1e-4) }}
  budget {{ steps: 2 }}
  cluster {{ {cluster} }}
}}
"""


def recipe(folder, cluster, system="sync on disaggregated(rollout: 4, train: 2)"):
    (folder / "r.rl").write_text(RECIPE.format(cluster=cluster, system=system))
    return resolve(str(folder / "r.rl"), None)


def test_a_sound_answer_passes():
    require_sound("e", {4: STREAM}, 4, SOUND, 10)


@pytest.mark.parametrize("change, code, says", [
    ({"tokens": (5, 6, 9, 10)}, "RL617", "token 10"),
    ({"tokens": (5, 7, 9, 0)}, "RL617", "another beginning"),
    ({"versions": (3, 4, 4, 4)}, "RL617", "another beginning"),
    ({"logps": (-1.0, -2.0, float("nan"), -0.1)}, "RL601", "not finite"),
    ({"logps": (-1.0, -2.0, float("-inf"), -0.1)}, "RL601", "not finite"),
    ({"logps": (-1.0, -2.0, 0.5, -0.1)}, "RL617", "above 1"),
    ({"finish": "abort"}, "RL617", "abort"),
    ({"finish": "length"}, "RL617", "4 tokens"),
    ({"row": 3}, "RL617", "another name"),
    ({"sibling": 0}, "RL617", "another name"),
    ({"prompt": (7, 9)}, "RL617", "another name"),
])
def test_what_cannot_be_an_answer_is_refused(change, code, says):
    with pytest.raises(RunError, match=code) as caught:
        require_sound("rollout engine 0", {4: STREAM}, 4, replace(SOUND, **change), 10)
    assert says in str(caught.value) and "response 1.3" in str(caught.value)


def test_nobody_asked():
    with pytest.raises(RunError, match="RL617"):
        require_sound("e", {}, 4, SOUND, 10)


def test_a_stream_has_its_own_random_numbers():
    seeds = {replace(STREAM, batch=b).seed(s) for b in range(3) for s in range(3)}
    more = {replace(STREAM, request=r).seed(0) for r in (
        replace(STREAM.request, group=2), replace(STREAM.request, first=1), replace(STREAM.request, prefix=Prefix()))}
    assert len(seeds | more) == 12 and all(0 <= s < 2**63 for s in seeds)
    assert STREAM.seed(1) == replace(STREAM, id=99).seed(1)


def test_every_setting_is_stated_and_compared():
    wanted = stated(OPTIONS, greedy=False, eos=frozenset({3, 1}), seed=11, done=2)
    assert wanted["max_tokens"] == 4 and wanted["stop_token_ids"] == [1, 3] and wanted["top_k"] == 0
    same = SimpleNamespace(**{**wanted, "stop_token_ids": [3, 1], "bad_words": None})
    require_same(wanted, same, "vLLM")
    for name, other in {"temperature": 0.01, "seed": 12, "repetition_penalty": 1.1, "stop_token_ids": [1],
                        "ignore_eos": False, "min_p": 0.05}.items():
        with pytest.raises(RunError, match="RL608") as caught:
            require_same(wanted, SimpleNamespace(**{**wanted, name: other}), "vLLM")
        assert f"{name} = {other!r}" in str(caught.value)


def test_greedy_turns_truncation_off():
    wanted = stated(OPTIONS, greedy=True, eos=frozenset({1}), seed=11, done=0)
    assert (wanted["temperature"], wanted["top_p"], wanted["seed"]) == (0.0, 1.0, None)


@pytest.mark.parametrize("cluster, system, wanted", [
    ("nodes: 1", "sync on disaggregated(rollout: 4, train: 2)", (("rollout", 4, 0), ("train", 2, 0))),
    ("nodes: 1, rollout_tensor: 2", "sync on disaggregated(rollout: 4, train: 2)",
     (("rollout", 2, 0), ("train", 2, 0))),
    ("nodes: 1, gpus_per_node: 8, rollout_tensor: 2", "sync on disaggregated(rollout: 4, train: 2)",
     (("rollout", 2, 2.0), ("train", 2, 1.0))),
    ("nodes: 2, gpus_per_node: 2, tensor: 2", "sync on colocated", (("rollout", 4, 0.5), ("train", 4, 0.5))),
    ("nodes: 1, tensor: 2", "sync on colocated", (("rollout", 1, 0), ("train", 2, 0))),
])
def test_roles_of_a_recipe(tmp_path, cluster, system, wanted):
    assert roles(recipe(tmp_path, cluster, system)) == tuple(Role(*w) for w in wanted)


def test_the_cluster_block_chooses_the_backend(tmp_path):
    plan, _ = compile_recipe(recipe(tmp_path, "nodes: 1"), profile=None, sets=[])
    assert "cluster" in opener(plan, "here:1").func.__module__
    plan, _ = compile_recipe(recipe(tmp_path, "local", "sync on colocated"), profile=None, sets=[])
    assert "local" in opener(plan, None).__module__
    with pytest.raises(RecipeError, match="RL208"):
        opener(plan, "here:1")


def test_what_the_engines_lack_is_named(tmp_path):
    assert lacks(recipe(tmp_path, "nodes: 1")) == []
    other = recipe(tmp_path, "nodes: 1", "partial(0.5, resume: keep_state) on disaggregated(rollout: 1, train: 1)")
    assert len(lacks(other)) == 1 and "own state" in lacks(other)[0]


def test_errors_travel_with_what_they_say():
    said = Diagnostic("RL604", "m", why="w", fix="f")
    assert pickle.loads(pickle.dumps(RunError(said))).diagnostic == said
    assert pickle.loads(pickle.dumps(RecipeError([said]))).diagnostics == (said,)


def test_a_death_is_told_in_one_sentence():
    told = "The actor died because of an error.\n\tclass_name: X\nThe actor is dead because its worker "
    told += "process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: connection error code 2. End of file."
    assert reason(Exception(told)) == "connection error code 2"
    assert reason(Exception("The actor is dead because it was killed by `ray.kill`.")).endswith("`ray.kill`")
    assert own_words(Exception("no cause")) is None


@pytest.mark.parametrize("error", [TimeoutError("late\nlog"), RuntimeError("no space"), OSError("port"),
                                   Exception("The current node timed out during startup.")])
def test_a_cluster_that_does_not_start_is_told(monkeypatch, error):
    def init(*_, **__):
        raise error

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init))
    with pytest.raises(RunError) as caught:
        _start(2, {})
    found = caught.value.diagnostic
    assert found.code == "RL606" and found.why == str(error).splitlines()[0] and found.fix
