
"""Rules on recipes put together by hand, and what keeps rules apart from the names of choices."""

import ast
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import rldsl.compiler
from rldsl.algebra.variables import VALUE
from rldsl.axes import base, discover
from rldsl.axes.traits import CUTS, FRESH_DATA, SEPARATE_DEVICES, Trait
from rldsl.axes.types import Policies
from rldsl.compiler.check import all_rules, check
from rldsl.compiler.recipe import Node, Sum
from rldsl.compiler.resolve import profiles, resolve, resolve_all, resolve_runnable
from rldsl.compiler.rules.rl327_batch import divisors, multiples
from rldsl.compiler.shapes import NAMED, context_of
from rldsl.compiler.ways import ways

from ..hand_made import CURRENT_OLD, HERE, grpo, node, with_optim
from .free_running import FreeRunning
from .uncorrected import Uncorrected

ROOT = Path(rldsl.__file__).parents[1]


def codes(recipe):
    """Of errors and warnings."""
    return {d.code for d in check(recipe) if d.severity != "info"}


def one(recipe, code):
    (found,) = [d for d in check(recipe) if d.code == code]
    return found


CURRENT_ROLLOUT = Policies("current", "rollout")


# ── remedies ─────────────────────────────────────────────────────────────────────────────────────────

def offered(text):
    return set(re.findall(r"`([a-z0-9_]+)`", text))


def test_a_remedy_offers_only_what_a_run_would_take():
    single = one(grpo(sampling=(node("sampling", "single", max_tokens=6),)), "RL301")
    samplers, _, advantages = single.fix.partition("takes one response")
    assert "group" in offered(samplers) and not offered(samplers) & {"student", "offline"}
    assert {"gae", "batch_mean"} <= offered(advantages)
    for name in offered(advantages):
        changed = grpo(sampling=(node("sampling", "single", max_tokens=6),), advantage=(node("advantage", name),))
        assert not [d for d in check(changed) if d.severity == "error"], name


STORED = {"sampling": (node("sampling", "offline", "labels", max_tokens=6),), "ratio": node("ratio", "none"),
          "advantage": (node("advantage", "none"),)}
REMEDIES = [
    # (what is refused, its code, the axis that a remedy is for, what stands before its list)
    ({**STORED, "advantage": (node("advantage", "group_mean"),), "gate": node("gate", "kto", 0.1)}, "RL301",
     "advantage", "takes one response"),
    ({"sampling": (node("sampling", "turns", 2, n=1, max_tokens=6),), "feedback": Sum((
        node("feedback", "verify", "numeric"), node("feedback", "mask_infra_failures")))}, "RL301",
     "advantage", "takes one response"),
    ({"ratio": node("ratio", "none")}, "RL323", "gate", "a gate that needs none"),
    ({"ratio": node("ratio", "none")}, "RL323", "ratio", "Choose a ratio"),
    ({"ratio": node("ratio", "sequence", CURRENT_OLD), "advantage": (node("advantage", "gae"),),
      "sampling": (node("sampling", "single", max_tokens=6),)}, "RL314", "ratio", "for every token"),
    ({"ratio": node("ratio", "sequence", CURRENT_OLD), "reduction": node("reduction", "token_mean")}, "RL505",
     "reduction", "over responses"),
    ({"feedback": Sum((node("feedback", "verify", "numeric"), node("feedback", "kl_in_reward", 0.1)))}, "RL306",
     "advantage", "every token's reward"),
    ({"reduction": node("reduction", "sequence_mean")}, "RL304", "ratio", "Choose what gives it"),
    ({"gate": node("gate", "dpo", 0.1), "ratio": node("ratio", "none"), "reduction": node("reduction", "sequence_mean"),
      "advantage": (node("advantage", "none"),)}, "RL322", "sampling", "from a data set"),
    ({"advantage": (node("advantage", "gdpo"),)}, "RL326", "advantage", "of one reward"),
    ({"advantage": (node("advantage", "none"),), "sampling": (node("sampling", "offline", "pairs", max_tokens=6),),
      "ratio": node("ratio", "none"), "gate": node("gate", "none")}, "RL335", "gate", "signal of its own"),
]


@pytest.mark.parametrize("parts, code, axis, before", REMEDIES, ids=[f"{c} {a}" for _, c, a, _ in REMEDIES])
def test_what_a_remedy_offers_makes_the_code_go_and_brings_no_other(parts, code, axis, before):
    recipe = grpo(**parts)
    fix = next(d.fix for d in check(recipe) if d.code == code)
    listed = re.search(re.escape(before) + r"[^`]*((?:`[^`]*`(?:, )?)+)", fix)[1]
    errors = {d.code for d in check(recipe) if d.severity == "error"}
    for text in re.findall("`([^`]*)`", listed):
        there, put = getattr(recipe, axis), Node(as_offered(axis, text), HERE)
        changed = replace(recipe, **{axis: (put, *there[1:]) if isinstance(there, tuple) else put})
        found = {(d.code, d.severity) for d in check(changed)}
        assert code not in {c for c, _ in found} and {c for c, severity in found if severity == "error"} <= errors, text


def as_offered(axis, text):
    """The choice that a remedy names, such as `offline(pairs)`; what it leaves open as in the choice's examples."""
    name, _, inside = text.rstrip(")").partition("(")
    said = {part.rpartition(": ")[2] for part in inside.split(", ") if part}
    every = ways(discover.find(axis, name), max_tokens=6)
    return next(c for c in every if said <= {str(v) for v in vars(c).values()})


def test_too_few_devices_are_not_met_by_roles_without_any():
    apart = node("system", "disaggregated", rollout=1, train=1)
    for devices, lower in ((1, False), (2, None)):
        recipe = grpo(placement=apart)
        cluster = replace(recipe.settings.cluster, where=None, nodes=1, gpus_per_node=devices)
        found = [d for d in check(replace(recipe, settings=replace(recipe.settings, cluster=cluster)))
                 if d.code == "RL401"]
        assert [("Lower" in d.fix) for d in found] == ([] if lower is None else [lower])


def laid_out(**cluster):
    """What RL401 and RL402 say of a toy model on two nodes without GPUs, apart or as `placement` says."""
    placement = cluster.pop("placement", node("system", "disaggregated", rollout=2, train=2))
    recipe = grpo(placement=placement)
    settings = replace(recipe.settings, cluster=replace(recipe.settings.cluster, where=None, nodes=2, **cluster),
                       model=replace(recipe.settings.model, policy="toy:llama-2x128"))
    return [d for d in check(replace(recipe, settings=settings)) if d.code in ("RL401", "RL402")]


def test_a_layout_beyond_all_sizes_is_refused_at_once():
    found, = (d for d in laid_out(tensor=10**21, expert=10**12) if d.code == "RL402")
    assert found.fix == "Write tensor: 1 or 2 or 4. Write expert: 1."


def test_a_model_without_experts_spreads_none():
    found, = laid_out(expert=2)
    assert found.code == "RL402" and "no experts" in found.message and found.fix == "Write expert: 1."
    assert not laid_out(expert=1)


def test_sizes_for_heads_divide_the_key_value_heads_too():
    assert {d.fix for d in laid_out(tensor=3) if d.code == "RL402"} == {"Write tensor: 1 or 2 or 4."}


def folder_of(tmp_path, name, **more):
    (tmp_path / name).mkdir()
    config = {"hidden_size": 64, "intermediate_size": 128, "vocab_size": 100, "num_hidden_layers": 4,
              "num_attention_heads": 4, "num_key_value_heads": 2}
    (tmp_path / name / "config.json").write_text(json.dumps(config | more))
    return f'"{tmp_path / name}"'


@pytest.mark.parametrize("layout, wrong", [
    ("expert: 2", {"dense has no experts"}), ("tensor: 2", set()), ("tensor: 8", {"moe has 4 attention heads",
                                                                                    "dense has 4 attention heads"}),
    ("pipeline: 8", {"moe has 4 layers", "dense has 4 layers"}), ("expert: 16", {"moe has 8 experts",
                                                                                 "dense has no experts"})])
def test_a_frozen_model_beside_a_mixture_of_experts_is_divided_too(tmp_path, layout, wrong):
    """Before anything starts, wherever its ranks are; the mixture's own heads and layers as well."""
    moe, dense = folder_of(tmp_path, "moe", num_experts=8), folder_of(tmp_path, "dense")
    for apart in ("", ", reference: 16"):
        (tmp_path / "r.rl").write_text(
            "import std.quickstart\nrecipe mine extends quickstart {\n  gate = clip(0.2) + kl(0.01)\n"
            "  distribution = tis + replay(routing)\n  system = sync on disaggregated(rollout: 1, train: 16)\n"
            f"  model {{ policy: {moe}, reference: {dense} }}\n  cluster {{ nodes: 1, {layout}{apart} }}\n}}\n")
        found = [d for d in check(resolve(str(tmp_path / "r.rl"))) if d.code == "RL402"]
        assert {part for d in found for part in wrong if part in d.message.replace(f"{tmp_path}/", "")} == wrong
        assert bool(found) == bool(wrong)


def test_devices_that_are_lent_hold_whole_engines():
    found, = laid_out(placement=node("system", "elastic", dedicated=2, flexible=3), rollout_tensor=2)
    assert found.code == "RL401" and "train role has 3 devices" in found.message
    assert "write flexible: 2 or 4." in found.fix
    assert not laid_out(placement=node("system", "elastic", dedicated=2, flexible=4), rollout_tensor=2)
    assert not laid_out(placement=node("system", "disaggregated", rollout=2, train=3), rollout_tensor=2)


# ── old data ─────────────────────────────────────────────────────────────────────────────────────────

def free(**changes):
    """Four responses to a prompt, of any age, used as they come; two updates."""
    placed = {"schedule": Node(FreeRunning(), HERE), "placement": node("system", "disaggregated", rollout=1, train=1),
              "distribution": (Node(Uncorrected(), HERE),)}
    return with_optim(grpo(**{**placed, **changes}), updates_per_batch=2)


def test_unbounded_lag_needs_something_that_accounts_for_it():
    assert codes(free()) == {"RL307"}
    accounts = [{"distribution": (node("distribution", "max_lag", 4), node("distribution", "tis"))},
                {"ratio": node("ratio", "token", CURRENT_ROLLOUT)},
                {"distribution": (node("distribution", "icepop"),)},
                {"distribution": (node("distribution", "max_lag", 4),)},
                {"regularisers": (node("gate", "kl", 0.1, to="old"),)}]
    for change in accounts:
        assert "RL307" not in codes(free(**change)), change


def test_a_term_with_coefficient_zero_accounts_for_nothing():
    assert "RL307" in codes(free(regularisers=(node("gate", "kl", 0.0, to="old"),)))
    assert "RL307" in codes(free(regularisers=(node("gate", "kl", 0.1, to="ref"),)))


def test_an_assertion_of_fresh_data_is_refused_under_unbounded_lag():
    found = codes(free(distribution=(node("distribution", "on_policy"),)))
    assert found == {"RL311"}, "one cause, one code"
    assert "any number of batches" in one(free(distribution=(node("distribution", "on_policy"),)), "RL311").message


def test_siblings_that_several_axes_need_are_asked_for_once_each():
    """An advantage is no remedy where the feedback compares siblings as well."""
    compared = Sum((node("feedback", "verify", "numeric"), node("feedback", "length_penalty", 0.5)))
    found, = (d for d in check(grpo(feedback=compared, sampling=(node("sampling", "single", max_tokens=4),)))
              if d.code == "RL301")
    assert "`feedback.length_penalty`" in found.message and "`advantage.group_norm`" in found.message
    assert "choose an advantage" not in found.fix


# ── needs that no shipped choice has ─────────────────────────────────────────────────────────────────

class ReadsValues(base.Estimator):
    def estimate(self):
        return VALUE


class NeedsTheMoon(base.Regulariser):
    needs = {Trait("moon", "a full moon")}

    def bonus(self, r):
        return VALUE * 0.0


def test_a_value_that_nobody_gives():
    found = one(grpo(advantage=(Node(ReadsValues(), HERE),)), "RL304")
    assert "value estimate" in found.message and "`gae`" in found.fix and " on advantage" in found.fix


def test_a_need_without_any_giver():
    found = one(grpo(regularisers=(Node(NeedsTheMoon(), HERE),)), "RL304")
    assert "a full moon" in found.message and "any axis" in found.message and found.fix.startswith("Leave")


class Endless(base.Sampler):
    temperature: float = 1.0
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int = 10**6
    gives = frozenset()


def test_a_sampler_without_limit_and_without_records():
    recipe = grpo(sampling=(Node(Endless(), HERE),), advantage=(node("advantage", "batch_mean"),),
                  reduction=node("reduction", "fixed_budget"), distribution=(node("distribution", "tis"),))
    assert codes(recipe) >= {"RL320", "RL310"}
    assert {label.text for label in one(recipe, "RL320").labels} == {"measured against the limit; no limit"}
    assert "records no log-probs" in one(recipe, "RL310").message
    assert "RL320" not in codes(replace(recipe, reduction=node("reduction", "fixed_budget", length=100)))


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────

@pytest.mark.parametrize("prompts, cuts, expected", [(64, 5, [4, 8]), (32, 5, [4, 8]), (7, 4, [1, 7]), (1, 2, [1]),
                                                     (3, 5, [1, 3]), (100, 7, [5, 10])])
def test_the_nearest_numbers_of_updates_divide_the_prompts(prompts, cuts, expected):
    found = divisors(prompts, cuts)
    assert found == expected and all(prompts % d == 0 for d in found)


@pytest.mark.parametrize("prompts, cuts, expected", [(64, 5, [60, 65]), (3, 5, [5, 10]), (17, 16, [16, 32])])
def test_the_nearest_numbers_of_prompts_can_be_cut(prompts, cuts, expected):
    assert multiples(prompts, cuts) == expected


@pytest.mark.parametrize("text, known", [
    ('{"max_position_embeddings": 768}', 768), ('{"max_position_embeddings": "many"}', None), ("[]", None), ("{", None),
    ('{"max_position_embeddings": true}', None), ('{"max_position_embeddings": -1}', None), ("[" * 100_000, None)])
def test_the_context_of_a_local_folder(tmp_path, text, known):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(text)
    assert context_of("model", tmp_path) == ((known, "model/config.json") if known else None)
    assert context_of(str(tmp_path / "model"), Path("/")) == (
        (known, f"{tmp_path}/model/config.json") if known else None)


def test_contexts_that_are_known_and_not_known(tmp_path):
    assert context_of("toy:llama-2x64", tmp_path) == (512, "toy models")
    for name, shape in NAMED.items():
        assert context_of(f"owner/{name}", tmp_path) == (shape[-1], f"owner/{name}")
    for name in ("owner/unknown", "~nobody-here/model", "a\0b", "", "gguf:package"):
        assert context_of(name, tmp_path) is None


# ── every shipped recipe ─────────────────────────────────────────────────────────────────────────────

@pytest.mark.parametrize("path", sorted((ROOT / "recipes").rglob("*.rl")), ids=lambda p: p.stem)
def test_no_shipped_recipe_is_refused(path):
    """A file with a pipeline holds the recipes of its stages."""
    for made in resolve_all(str(path)):
        for profile in (None, *profiles(str(path), made.name)):
            found = check(resolve(str(path), made.name, profile=profile))
            assert [d for d in found if d.severity == "error"] == [], (made.name, profile)
    if not list(resolve_all(str(path))):
        for profile in (None, *profiles(str(path))):
            for stage in resolve_runnable(str(path), profile=profile).stages:
                assert [d for d in check(stage.recipe) if d.severity == "error"] == [], (stage.name, profile)


# ── rules and names ──────────────────────────────────────────────────────────────────────────────────

def files():
    return sorted(Path(rldsl.compiler.__file__).with_name("rules").glob("rl*.py"))


def test_every_file_is_a_rule_that_explains_itself():
    assert len(files()) == len(all_rules())
    for file, rule in zip(files(), all_rules(), strict=True):
        code = file.stem[:5].upper()
        module = ast.parse(file.read_text(encoding="utf-8"))
        assert (ast.get_docstring(module) or "").startswith(f"{code}: ") and "\nSource: " in ast.get_docstring(module)
        assert rule.__module__.endswith(file.stem) and rule.__doc__


EVERYDAY = {"step", "steps", "turn", "turns", "trajectory", "quality", "unit", "process", "teacher", "switch", "reject",
            "discard", "none", "token", "group", "format", "sequence", "single", "clip", "keep", "entropy", "head",
            "full", "top_k", "sampled", "vector", "answers", "judge", "frozen"}
"""Names of choices that are words of the trade too."""


def test_no_rule_knows_a_choice_by_name():
    names = {name for axis in discover.FAMILIES for name in discover.names(axis)} - EVERYDAY
    for file in (*files(), *(Path(rldsl.compiler.__file__).with_name(n) for n in ("facts.py", "clash.py"))):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        documented = (ast.Module, ast.FunctionDef, ast.ClassDef)
        docs = {id(n.body[0].value) for n in ast.walk(tree) if isinstance(n, documented) and ast.get_docstring(n)}
        for n in ast.walk(tree):
            if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in docs:
                assert not names & set(re.findall(r"\w+", n.value)), f"{file.name}: {n.value!r}"
            if isinstance(n, ast.ImportFrom):
                assert not re.match(rf"rldsl\.axes\.({'|'.join(discover.FAMILIES)})\b", n.module or ""), file.name


def test_traits_of_schedules_and_placements_say_what_their_properties_say():
    for name in discover.names("system"):
        cls = discover.find("system", name)
        if issubclass(cls, base.Schedule):
            for schedule in (cls(**e.params) for e in discover.examples("system", name)):
                assert (FRESH_DATA in schedule.gives) == (schedule.lag() == 0 and not schedule.overlaps())
                assert (CUTS in schedule.gives) == schedule.cuts()
        else:
            placement = cls(**{f: 1 for f in cls.__dataclass_fields__})
            assert (SEPARATE_DEVICES in cls.gives) == (not placement.shared())
            assert bool(placement.pools()) == (not placement.shared())


def test_a_parameter_that_decides_a_trait_exists():
    for axis in discover.FAMILIES:
        for name in discover.names(axis):
            cls = discover.find(axis, name)
            fields = {f.removesuffix("_") for f in cls.__dataclass_fields__}
            assert set(cls.decided_by.values()) <= fields, f"{axis}.{name}"
