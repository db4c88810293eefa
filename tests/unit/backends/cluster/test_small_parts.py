"""Parts of the cluster backend that need no engine: answers, settings, seeds, roles, the choice of a backend."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from rldsl.backends.choose import opener
from rldsl.backends.cluster import deaths, room
from rldsl.backends.cluster.capability import lacks, refuse
from rldsl.backends.cluster.deaths import dead, last_words, own_words, reason
from rldsl.backends.cluster.judging.seat import require_supported
from rldsl.backends.cluster.megatron.layout import parallel
from rldsl.backends.cluster.placement import part
from rldsl.backends.cluster.ray_session import _start
from rldsl.backends.cluster.rollout.answers import require_sound
from rldsl.backends.cluster.rollout.settings import require_same, stated
from rldsl.backends.cluster.rollout.streams import Stream
from rldsl.backends.cluster.training.roles import frozen
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.resolve import resolve
from rldsl.compiler.roles import Role, asked, processes
from rldsl.compiler.settings import Cluster
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


def recipe(folder, cluster, system="sync on disaggregated(rollout: 4, train: 2)", sets=()):
    (folder / "r.rl").write_text(RECIPE.format(cluster=cluster, system=system))
    return resolve(str(folder / "r.rl"), None, sets=sets)


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


@pytest.mark.parametrize("candidates, says", [
    (((5,), (6,)), "candidates for 2 of its 4 tokens"),
    (((5,), (6,), (9, 2)), "candidates for 3"),
    (((5,), (6,), (2, 3), (0,)), "token 9 and 2 candidates"),
    (((5,), (6,), (9, 10), (0,)), "token 9 and 2 candidates"),
    (((5,), (6,), (9, -1), (0,)), "token 9 and 2 candidates"),
    (((5,), (6,), (9,), ()), "token 0 and 0 candidates"),
])
def test_candidates_that_a_token_was_not_chosen_from_are_refused(candidates, says):
    with pytest.raises(RunError, match=f"RL617 .*response 1.3 with (the )?{says}"):
        require_sound("e", asked_after(candidates[:2]), 4, replace(SOUND, candidates=candidates), 10, candidates=True)


def asked_after(candidates):
    """The stream, begun with tokens that were chosen from these."""
    begun = replace(STREAM.request.prefix, candidates=candidates)
    return {4: replace(STREAM, request=replace(STREAM.request, prefix=begun))}


def test_candidates_come_where_they_are_asked_for():
    chosen = replace(SOUND, candidates=((5, 1), (6,), (9, 2), (0,)))
    asked = asked_after(chosen.candidates[:2])
    require_sound("e", asked, 4, chosen, 10, candidates=True)
    with pytest.raises(RunError, match=r"RL617 .*candidates for 4"):
        require_sound("e", asked, 4, chosen, 10)
    with pytest.raises(RunError, match="another beginning"):
        require_sound("e", asked, 4, replace(chosen, candidates=((5,), *chosen.candidates[1:])), 10, candidates=True)


def test_another_models_beginning_has_no_candidates():
    require_sound("e", {4: STREAM}, 4, replace(SOUND, candidates=((9, 2), (0,))), 10, candidates=True)
    with pytest.raises(RunError, match=r"RL617 .*candidates for 1 of its 4"):
        require_sound("e", {4: STREAM}, 4, replace(SOUND, candidates=((0,),)), 10, candidates=True)


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
    assert processes(recipe(tmp_path, cluster, system)) == tuple(Role(*w) for w in wanted)


ROLES = {"gate": "clip(0.2) + kl(0.01)", "advantage": "gae", "feedback": "verify(exact) + 0.1 * teacher",
         "model.teachers": '["toy:llama-1x128", "toy:llama-2x128", "toy:llama-1x128"]', "model.teaching": "mean"}


@pytest.mark.parametrize("cluster, system, wanted", [
    ("nodes: 1", "sync on colocated", (("rollout", 1, 0), ("train", 1, 0))),
    ("nodes: 1, reference: 2, teacher: 1", "sync on disaggregated(rollout: 4, train: 2)",
     (("rollout", 4, 0), ("train", 2, 0), ("reference", 2, 0), ("teacher-1", 1, 0), ("teacher-2", 1, 0))),
    ("nodes: 2, gpus_per_node: 4, critic: 2, reference: 2", "sync on colocated",
     (("rollout", 4, 0.5), ("train", 4, 0.5), ("reference", 2, 1.0), ("critic", 2, 1.0))),
])
def test_roles_with_ranks_of_their_own(tmp_path, cluster, system, wanted):
    made = recipe(tmp_path, cluster, system, sets=[f"{k}={v}" for k, v in ROLES.items()])
    assert processes(made) == tuple(Role(*w) for w in wanted)
    assert not [*lacks(made)]


DISTILLED = ("advantage=none", "ratio=none", 'model.teachers=["toy:llama-1x128", "toy:llama-3x128"]',
             "model.teaching=mean")


@pytest.mark.parametrize("role, sets", [
    ("reference", ("gate=clip(0.2) + kl(0.01, estimator: exact)",)),
    ("teacher", (*DISTILLED, "gate=distill(reverse_kl)")),
    ("teacher", (*DISTILLED, "gate=distill(jsd, over: top_k(4))")),
])
def test_whole_distributions_are_compared_on_the_same_ranks_only(tmp_path, role, sets):
    apart, = lacks(recipe(tmp_path, "nodes: 1", sets=(*sets, f"cluster.{role}=1")))
    assert f"cluster.{role}" in apart.what and apart.fix == f"leave cluster.{role} out"
    assert not [*lacks(recipe(tmp_path, "nodes: 1", sets=sets))]


def test_a_sampled_token_is_compared_wherever_the_teacher_is(tmp_path):
    sets = (*DISTILLED, "gate=distill(reverse_kl, over: sampled)", "cluster.teacher=1")
    assert not [*lacks(recipe(tmp_path, "nodes: 1", sets=sets))]


def test_the_cluster_block_chooses_the_backend(tmp_path):
    plan, _ = compile_recipe(recipe(tmp_path, "nodes: 1"), profile=None, sets=[])
    assert "cluster" in opener(plan, "here:1").func.__module__
    plan, _ = compile_recipe(recipe(tmp_path, "local", "sync on colocated"), profile=None, sets=[])
    assert "local" in opener(plan, None).__module__
    with pytest.raises(RecipeError, match="RL208"):
        opener(plan, "here:1")


def test_equal_bits_are_refused_with_what_was_measured(tmp_path):
    lack, = lacks(recipe(tmp_path, "nodes: 1", sets=["distribution=bitwise"]))
    assert "bitwise" in lack.what and "7 to 8 % have equal bits, docs/measurements.md" in lack.what
    assert lack.fix.startswith("leave bitwise out, or run it in one process")


@pytest.mark.parametrize("distribution", ["tis(2.0) + replay(candidates)", "on_policy"])
def test_truncation_goes_with_tensor_parallelism(tmp_path, distribution):
    sets = [f"distribution={distribution}", "sampling.top_p=0.9", "sampling.top_k=50"]
    assert not [*lacks(recipe(tmp_path, "nodes: 1, tensor: 2", sets=sets))]


def test_what_the_engines_lack_is_named(tmp_path):
    assert not [*lacks(recipe(tmp_path, "nodes: 1"))]
    kept = recipe(tmp_path, "nodes: 1", "partial(0.5, resume: keep_state) on disaggregated(rollout: 1, train: 1)")
    assert not [*lacks(kept)]
    other = recipe(tmp_path, "nodes: 1, context: 2", "stream(1) on disaggregated(rollout: 1, train: 2, versions: 2)")
    assert [each.what.partition(" ")[2][:14] for each in lacks(other)] == ["2 needs attent"]


def test_a_remedy_is_for_what_is_lacking_and_another_process_is_none_for_a_system_that_overlaps(tmp_path):
    system = "stream(1, resume: keep_state) on elastic(dedicated: 1, flexible: 2)"
    with pytest.raises(RecipeError) as caught:
        refuse(recipe(tmp_path, "nodes: 1, context: 2", system))
    found = caught.value.diagnostics[0]
    assert found.code == "RL406" and "one process" not in found.fix
    assert found.fix == "write resume: reprefill; write context: 1, and a larger tensor or pipeline"
    mended = "stream(1, resume: reprefill) on elastic(dedicated: 1, flexible: 2, versions: 2)"
    refuse(recipe(tmp_path, "nodes: 1, context: 1", mended))


@pytest.mark.parametrize("sets", [
    ("optim.lora_rank=4",), ("optim.layers=50%..100%",), ("distribution=tis(2.0) + qat(fp8)",),
    ("gate=clip(0.2) + pretrain_mix(0.1)", 'data.pretrain="toy:sort"')])
def test_parts_rounded_weights_and_a_second_stream_are_nothing_that_the_engines_lack(tmp_path, sets):
    assert not [*lacks(recipe(tmp_path, "nodes: 1", sets=sets))]


@pytest.mark.parametrize("sharers", [1, 2, 3, 7, 64])
def test_engines_that_share_a_place_fit_into_it(sharers):
    each = part(1.0, sharers)
    assert 0 < each and round(each * sharers, 4) <= 1.0 < each * sharers + 0.01


JUDGED = ("feedback=verify(exact) + 0.1 * reward_model + 0.1 * self_judge(rubric: [\"{response}?\"], weights: initial)",
          'model.reward="toy:llama-1x16"')
BEGUN = ("sampling=group(4, max_tokens: 6) | prefix(tokens: 2)", 'model.teachers=["toy:llama-1x128"]')


@pytest.mark.parametrize("sets, held", [(JUDGED, {"reward", "initial"}), (BEGUN, {"teacher"}),
                                        ((*JUDGED, *BEGUN), {"reward", "initial", "teacher"})])
def test_models_that_are_asked_are_in_processes_of_their_own_and_in_no_ranks(tmp_path, sets, held):
    one, three = (recipe(tmp_path, cluster, sets=sets) for cluster in ("nodes: 1", "nodes: 1, judge: 3"))
    assert processes(one)[2:] == (Role("judge", 1),) and processes(three)[2:] == (Role("judge", 3),)
    assert asked(three).keys() == held and not [*lacks(three)]
    plan, _ = compile_recipe(three)
    assert not frozen(plan, three, tmp_path, tmp_path, None, None, None).folders, "and the trainer loads none of them"
    for role in ("reference", "teacher"):
        with pytest.raises(RecipeError, match="RL208"):
            recipe(tmp_path, "nodes: 1", sets=(*sets, f"cluster.{role}=1"))


def test_a_model_that_the_embedded_backend_does_not_compute_is_refused_before_anything_starts(tmp_path):
    with pytest.raises(RecipeError, match="RL406"):
        require_supported({"policy": SimpleNamespace(folder=tmp_path, config={"model_type": "qwen3_moe"})})


def test_a_judge_that_is_the_policy_is_asked_as_the_policy(tmp_path):
    judged = ("feedback=verify(exact) + 0.1 * judge(rubric: [\"{response}?\"])", "model.judge=policy")
    assert asked(recipe(tmp_path, "nodes: 1", sets=judged)) == {"policy": "toy:llama-2x128"}


def test_more_processes_than_the_machine_has_memory_for_are_refused(monkeypatch):
    """C-009: what is wanted against what is there, before anything is started."""
    monkeypatch.setattr(room, "available", lambda: 20 * 10**9)
    room.require_memory((Role("rollout", 10), Role("train", 8), Role("reward", 2)))
    with pytest.raises(RunError, match="RL606") as caught:
        room.require_memory((Role("rollout", 500), Role("train", 1), Role("judge", 2)))
    assert caught.value.diagnostic.message == (
        "the placement 500 × 600 MB (rollout) + 1 × 250 MB (train) + 2 × 150 MB (judge) = 301 GB at least is more than "
        "this machine has: 20 GB of memory are free")
    monkeypatch.setattr(room, "available", lambda: None)
    room.require_memory((Role("rollout", 500),))


@pytest.mark.parametrize("limit, free", [(None, 3 * 1024), ("max", 3 * 1024), ("2000", 1600), ("9000", 3 * 1024)])
def test_free_memory_is_the_machine_s_or_what_its_container_may_use(tmp_path, monkeypatch, limit, free):
    files = {"MEMINFO": "MemTotal: 9 kB\nMemAvailable: 3 kB\n", "USED": "500", "STAT": "anon 1\ninactive_file 100\n"}
    for name, text in {**files, **({} if limit is None else {"LIMIT": limit})}.items():
        (tmp_path / name).write_text(text)
    for name in ("MEMINFO", "LIMIT", "USED", "STAT"):
        monkeypatch.setattr(room, name, tmp_path / name)
    assert room.available() == free
    (tmp_path / "MEMINFO").unlink()
    assert room.available() is None


def test_scorers_have_processes_of_their_own_where_the_recipe_says_so(tmp_path):
    asked = processes(recipe(tmp_path, "nodes: 1, reward: 3"))
    assert asked[-1] == Role("reward", 3) and asked[-1].bundle == {"CPU": 1.0}
    assert not any(role.name == "reward" for role in processes(recipe(tmp_path, "nodes: 1")))


@pytest.mark.parametrize("expert, tensor, ranks, least", [(2, 1, 3, 2), (4, 2, 6, 4), (1, 2, 3, 2)])
def test_ranks_that_do_not_divide_are_told_a_number_that_does(expert, tensor, ranks, least):
    cluster = replace(Cluster(), tensor=tensor, expert=expert)
    with pytest.raises(RecipeError) as caught:
        parallel(cluster, ranks)
    assert caught.value.diagnostics[0].code == "RL401"
    assert caught.value.diagnostics[0].fix.endswith(f"a multiple of {least} ranks")
    assert parallel(cluster, least).ranks == least


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


def test_a_death_is_told_with_its_place_and_its_last_words(tmp_path, monkeypatch):
    """C-033: which process on which node, what the run waited for, how it ended and what it wrote before."""
    log = ":job_id:01\nfirst\nsecond\n\nthird\nfatal: no memory\nWarning: so it is\n"
    (tmp_path / "worker-ab-01000000-77.err").write_text(log)
    assert last_words(tmp_path, "77") == "second | third | fatal: no memory"
    assert last_words(tmp_path, "78") == last_words(None, "77") == ""
    monkeypatch.setattr(deaths, "_logs", lambda: tmp_path)
    told = "The actor died.\n\tclass_name: X\n\tpid: 77\n\tip: 10.0.0.3\nThe actor is dead because it has died."
    said = dead("trainer rank 1", Exception(told), "the run waited for it (update)")
    assert said.code == "RL605" and said.message.endswith("(process 77 on 10.0.0.3)")
    assert said.why == "the run waited for it (update); the last that it wrote: second | third | fatal: no memory"


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
