"""What the compiler must say to recipes that once hurt somebody: each test is named after its public report's id."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rldsl.compiler import arithmetic
from rldsl.compiler.check import check
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.device_memory import phases
from rldsl.compiler.explain import explain
from rldsl.compiler.resolve import resolve
from rldsl.compiler.roles import processes
from rldsl.compiler.shapes import shape
from rldsl.diagnostics import RecipeError
from tests.probing import probe_of, row

GPUS = 'cluster { nodes: 1, gpus_per_node: %d, gpu: "H800-80GB"%s }'
LAGGED = "system = one_step_off on disaggregated(rollout: 1, train: 1)"


@pytest.fixture
def compiled(tmp_path):
    """Every error and warning in a child of the quickstart recipe with these lines, by code."""
    def compile_(*lines: str, sets: tuple[str, ...] = ()):
        path = tmp_path / "case.rl"
        body = "\n".join(f"  {line}" for line in lines)
        path.write_text(f"import std.quickstart\nrecipe case extends quickstart {{\n{body}\n}}\n", encoding="utf-8")
        try:
            found = [d for d in check(resolve(str(path), sets=sets)) if d.severity != "info"]
        except RecipeError as error:
            found = error.diagnostics
        assert len({(d.code, d.primary) for d in found}) == len(found), "one mistake is reported twice"
        return {d.code: d for d in found}
    return compile_


@pytest.fixture
def recipe(tmp_path):
    """The recipe itself."""
    def resolve_(*lines: str):
        path = tmp_path / "case.rl"
        body = "\n".join(f"  {line}" for line in lines)
        path.write_text(f"import std.quickstart\nrecipe case extends quickstart {{\n{body}\n}}\n", encoding="utf-8")
        return resolve(str(path))
    return resolve_


def test_c002_updates_per_batch_are_derived_and_whole(compiled, recipe):
    batch = ("data.prompts = 64", "sampling = group(8, max_tokens: 4)")
    four = dict(arithmetic.batch(recipe(*batch, "optim.updates_per_batch = 4")))
    assert four["responses per batch"].endswith("= 512 responses") and four["updates per batch"] == "4 updates"
    assert four["responses per update"] == "128 responses" and four["on-policy"].startswith("at the batch's start only")
    one = dict(arithmetic.batch(recipe(*batch, "optim.updates_per_batch = 1")))
    assert one["updates per batch"] == "1 update" and one["on-policy"].startswith("yes")
    found = compiled(*batch, "optim.updates_per_batch = 5")["RL327"]
    assert found.severity == "error"
    for text in ("64 prompts", "512 responses", "5 updates"):
        assert text in found.message
    assert "4 or 8" in found.fix and "60 or 65" in found.fix
    assert "RL327" not in compiled(*batch, "optim.updates_per_batch = 4")
    assert set(compiled("data.prompt = 64")) != set() and "RL211" in compiled("data { batch_size: 64 }")


def test_c006_old_data_needs_a_correction(compiled):
    fresh = compiled("distribution = on_policy", LAGGED)["RL311"]
    assert fresh.severity == "error"
    for remedy in ("`tis`", "`max_lag`", "current / rollout", "`sync`"):
        assert remedy in fresh.fix
    assert compiled("distribution = max_lag(1)", LAGGED)["RL517"].severity == "warning"
    assert {d.severity for d in compiled("distribution = tis(2.0)", LAGGED).values()} == {"warning"}
    assert compiled("ratio = token(current / rollout)", "distribution = max_lag(1)", LAGGED) == {}
    assert compiled("distribution = on_policy", "system = sync on colocated") == {}


def test_c008_options_without_effect_are_errors(compiled):
    unknown = compiled("advantge = group_mean")["RL201"]
    assert "`advantage`" in unknown.fix
    assert "RL205" in compiled("gate = cispo(1.0, dual: 3)")
    assert "RL208" in compiled("critic { warmup_steps: 3 }")
    assert "RL208" in compiled("feedback = verify(exact, tolerance: 0.1)")
    assert compiled("advantage = group_norm(std: sample)") == {}


def test_c009_heads_that_a_layout_cannot_divide_are_named(compiled, tmp_path):
    (tmp_path / "odd").mkdir()
    config = {"hidden_size": 100, "intermediate_size": 100, "num_attention_heads": 25, "num_hidden_layers": 2,
              "vocab_size": 100}
    (tmp_path / "odd" / "config.json").write_text(json.dumps(config))
    found = compiled("distribution = tis(2.0)", 'model.policy = "odd"', GPUS % (4, ", tensor: 4"))["RL402"]
    assert found.severity == "error" and "25 attention heads, which tensor 4 does not divide" in found.message


def test_c009_tensor_parallel_is_checked_against_the_roles_own_pool(compiled, recipe):
    found = compiled("distribution = tis(2.0)", GPUS % (1, ", rollout_tensor: 2"))["RL401"]
    assert "rollout role has 1 GPU" in found.message and "rollout_tensor 2" in found.message
    two = ("distribution = tis(2.0)", GPUS % (4, ", rollout_tensor: 2"))
    assert compiled(*two) == {} and next((r.name, r.count) for r in processes(recipe(*two))) == ("rollout", 2)
    pool = compiled("distribution = tis(2.0)", "system = sync on disaggregated(rollout: 2, train: 6)",
                    GPUS % (8, ", rollout_tensor: 4"))["RL401"]
    assert "2 GPUs" in pool.message and "its own pool, not the whole cluster" in pool.message


def test_c009_fires_within_a_second_and_starts_nothing(tmp_path):
    (tmp_path / "case.rl").write_text("import std.quickstart\nrecipe case extends quickstart {\n  " +
                                      GPUS % (1, ", rollout_tensor: 2") + "\n}\n")
    program = ("import sys\nfrom rldsl.cli.main import main\ncode = main(sys.argv[1:])\n"
               "assert not {'ray', 'torch', 'vllm'} & set(sys.modules)\nsys.exit(code)")
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program, "compile", str(tmp_path / "case.rl"), "--format", "json"],
                          capture_output=True, text=True)
    assert time.perf_counter() - start < 5
    found = json.loads(done.stdout)["diagnostics"]
    assert [d["code"] for d in found if d["severity"] == "error"] == ["RL401"] and done.returncode == 4


def test_c010_a_group_of_one_is_named_on_both_axes(compiled):
    found = compiled("sampling = group(1, max_tokens: 4)")["RL301"]
    for text in ("`advantage.group_norm`", "`sampling.group`", "at least 2"):
        assert text in found.message
    for alternative in ("`gae`", "`batch_mean`", "`monte_carlo`"):
        assert alternative in found.fix
    assert "divi" not in found.message + found.why
    assert len(found.labels) == 2
    assert compiled("sampling = group(1, max_tokens: 4)", "advantage = gae", "critic { warmup_steps: 1 }") == {}


def test_c012_leave_one_out_of_one(compiled):
    assert "`advantage.rloo`" in compiled("sampling = group(1, max_tokens: 4)", "advantage = rloo")["RL301"].message
    assert compiled("sampling = group(2, max_tokens: 4)", "advantage = rloo") == {}


def test_c016_a_sequence_ratio_is_not_weighed_by_length(compiled):
    sequence = ("ratio = sequence(current / old)", "gate = clip(3e-4)")
    for reduction in ("token_mean", "sequence_sum", "fixed_budget"):
        found = compiled(*sequence, f"reduction = {reduction}")
        assert set(found) == {"RL505"} and found["RL505"].severity == "warning"
        assert "length" in found["RL505"].message
    for reduction in ("response_mean", "sequence_mean"):
        assert compiled(*sequence, f"reduction = {reduction}") == {}


def test_c043_refill_without_a_bound(compiled):
    found = compiled("sampling = group(8, max_tokens: 4) | keep(mixed)")["RL506"]
    assert found.severity == "warning" and "max_rounds" in found.fix
    assert compiled("sampling = group(8, max_tokens: 4) | keep(mixed, max_rounds: 3, exhausted: error)") == {}
    assert compiled("sampling = group(8, max_tokens: 4) | keep(mixed, max_rounds: 3, exhausted: short_batch)") == {}


def test_c054_a_gate_anchored_on_recomputed_log_probs_does_nothing(compiled):
    recomputed = ("gate = cispo(1.0, high: 0.28)", "optim.updates_per_batch = 1", "distribution = max_lag(1)", LAGGED)
    found = compiled(*recomputed)["RL501"]
    assert found.severity == "warning" and "older weights" in found.message and "current / rollout" in found.fix
    assert "RL501" not in compiled(*recomputed, "ratio = token(current / rollout)")
    sampled = [row(1.0, reward=1.0, logp_rollout=[-1.0 - math.log(1.5)])]
    weights = [-probe_of(sampled, ratio=f"token(current / {anchor})", gate="cispo(1.0, high: 0.28)")
               ["responses"][0]["gradient"][0] for anchor in ("rollout", "old")]
    assert weights == pytest.approx([1.28, 1.0])


def test_c056_a_correction_of_another_grain_than_the_ratio_says_so(compiled):
    whole = ("ratio = sequence(current / old)", "gate = clip(3e-4)", "reduction = response_mean")
    assert compiled(*whole, "distribution = tis(2.0)")["RL315"].severity == "error"
    assert compiled(*whole, "distribution = tis(2.0, grain: geometric)") == {}


def test_c069_the_buffer_of_overlong_fits_its_limit(compiled):
    reached = "sampling = group(8, max_tokens: 100)"
    assert compiled(reached, "feedback = verify(exact) + overlong(max: 100, buffer: 20)") == {}
    found = compiled(reached, "feedback = verify(exact) + overlong(max: 100, buffer: 120)")["RL204"]
    assert found.severity == "error" and "buffer" in found.message
    assert "RL204" in compiled(reached, "feedback = verify(exact) + overlong(max: 100, buffer: 0)")
    assert "RL320" in compiled("feedback = verify(exact) + overlong(max: 100, buffer: 20)")
    for length, reward in ((80, 0.0), (90, -0.5), (100, -1.0)):
        out = probe_of([row(*[1.0] * length)], feedback="verify(exact) + overlong(max: 100, buffer: 20)",
                       sampling="single(max_tokens: 100)")
        assert out["responses"][0]["reward"] == pytest.approx(reward)


def test_c071_prompt_and_response_share_the_context(compiled):
    model = 'model { policy: "owner/model", context: 768, max_prompt: 512 }'
    found = compiled(model, "sampling.max_tokens = 512")["RL330"]
    assert "512 + max_tokens 512 = 1024 > 768" in found.message and len(found.labels) == 3
    assert "256" in found.fix
    assert compiled(model, "sampling.max_tokens = 256") == {}
    assert "RL203" in compiled('data { too_long: cut }')


def test_c072_a_kl_in_the_reward_reaches_the_update(compiled, recipe):
    found = compiled("feedback = verify(exact) + kl_in_reward(0.05)")["RL306"]
    assert found.severity == "error" and "gate" in found.fix and "grain: response" in found.fix
    plan, _ = compile_recipe(recipe("gate = clip(0.2) + kl(0)"))
    assert not [node.id for node in plan.graph.nodes if "reference_weights" in node.reads]
    plan, _ = compile_recipe(recipe("gate = clip(0.2) + kl(0.1)"))
    assert [node.id for node in plan.graph.nodes if "reference_weights" in node.reads]


def test_c075_an_overlapping_schedule_needs_devices_of_its_own(compiled):
    lines = ("ratio = token(current / rollout)", "distribution = max_lag(1)")
    found = compiled(*lines, "system = one_step_off on colocated")["RL313"]
    assert "`system.one_step_off`" in found.message and "`system.colocated`" in found.message
    assert found.severity == "error" and len(found.labels) == 2
    assert compiled(*lines, "system = one_step_off on disaggregated(rollout: 1, train: 1)") == {}


def test_c092_no_top_k_is_written_none(compiled):
    for sentinel in ("0", "-1"):
        found = compiled(f"sampling = group(8, max_tokens: 4, top_k: {sentinel})")["RL209"]
        assert found.severity == "error" and "none" in found.fix
    assert compiled("sampling = group(8, max_tokens: 4, top_k: none)") == {}
    assert "RL209" in compiled(sets=("sampling.top_k=-1",))


MOE = ('model { policy: "Qwen/Qwen3-30B-A3B", dtype: bf16 }', "distribution = tis(2.0)",
       "cluster { nodes: 4, gpus_per_node: 8 }")


def test_c058_routes_that_differ_between_two_engines_are_warned_of(compiled):
    found = compiled(*MOE)["RL504"]
    assert found.severity == "warning" and "128 experts" in found.message and "`ratio.token`" in found.message
    assert "RL504" not in compiled(*MOE[:1], *MOE[2:], "ratio = sequence(current / old)", "gate = clip(3e-4)",
                                   "reduction = sequence_mean", "distribution = tis(2.0, grain: geometric)")
    assert "RL504" not in compiled('model { policy: "Qwen/Qwen3-8B" }', *MOE[1:])
    assert "RL504" not in compiled(MOE[0])


SEVEN = 'model { policy: "Qwen/Qwen2.5-7B", dtype: bf16, max_prompt: 1000 }'


def test_c032_phases_of_shared_devices_follow_one_another(compiled, recipe):
    """Engine and trainer hold weights at the hand-over, and then no cache: their sum is never on the device."""
    shared = (SEVEN, "sampling = group(8, max_tokens: 31k)", "distribution = tis(2.0)")
    cluster = 'cluster { nodes: 1, gpus_per_node: 8, gpu: "%s" }'
    found = {p.name: p for p in phases(recipe(*shared, cluster % "A100-40GB"))}
    assert set(found["handing over the weights"].parts) == {"the trainer's weights", "the engine's weights"}
    assert set(found["sampling"].parts) == {"weights", "keys and values of one response"}
    assert compiled(*shared, cluster % "A100-40GB") == {}
    too_small = compiled(*shared, cluster % "T4-15GB")["RL403"]
    assert too_small.severity == "error" and "(too much)" in too_small.why and too_small.why.count(" = ") == 3
    peak = max(p.total for p in found.values()) / 2**30
    full = compiled(*shared, cluster % f"made-{peak / 0.97:.2f}GB")["RL403"]
    assert full.severity == "warning" and "97%" in full.message
    assert compiled(*shared, cluster % f"made-{peak / 0.9:.2f}GB") == {}


def test_c032_devices_that_are_lent_hold_an_engine_too(recipe):
    def names(placement):
        cluster = "cluster { nodes: 1, gpus_per_node: 8 }"
        lines = (SEVEN, "distribution = tis(2.0)", f"system = sync on {placement}", cluster)
        return {p.name for p in phases(recipe(*lines))}

    assert "handing over the weights" in names("elastic(dedicated: 4, flexible: 4)")
    assert "handing over the weights" not in names("disaggregated(rollout: 4, train: 4)")


def test_c032_frozen_models_have_their_weights_too(recipe):
    def training(*more):
        lines = (SEVEN, "cluster { nodes: 1, gpus_per_node: 8 }", *more)
        return next(p for p in phases(recipe(*lines)) if p.name == "training").parts

    alone = training()
    held = training("gate = clip(0.2) + kl(0.1)", 'model.reference = "Qwen/Qwen2.5-14B"')
    taught = training("advantage = teacher", "sampling = student(max_tokens: 6)",
                      'model.teachers = ["Qwen/Qwen3-32B"]')
    assert set(held) - set(alone) == {"the reference's weights"}
    assert set(taught) - set(alone) == {"the teacher's weights"}
    assert held["the reference's weights"] == pytest.approx(2 * shape("Qwen/Qwen2.5-14B", Path()).parameters / 8)


def test_c077_sleeping_engines_are_counted_in_the_hosts_memory(compiled):
    lines = (SEVEN, "distribution = tis(2.0)", "cluster { nodes: 1, gpus_per_node: 16, host_memory: %s }")
    found = compiled(*lines[:2], lines[2] % "128GB")["RL404"]
    assert found.severity == "error" and "244 GB" in found.message and "128 GB" in found.message
    assert any("16 engines on 16 GPUs" in label.text for label in found.labels)
    assert compiled(*lines[:2], lines[2] % "256GB") == {}
    assert compiled(*lines[:2], "system = sync on disaggregated(rollout: 8, train: 8)", lines[2] % "128GB") == {}


def test_c091_every_log_prob_says_whose_it_is_and_what_is_compared(recipe):
    """A decoupled recipe: older weights sample, the batch's start is the anchor, the newest weights learn."""
    e = explain(recipe("distribution = tis(2.0)", LAGGED, "optim.updates_per_batch = 2"))
    roles = {q.name: (q.role.partition(":")[0], q.versions) for q in e.quantities}
    assert roles == {"logp_rollout": ("behaviour", "v−1 … v"), "logp_old": ("proximal", "v"),
                     "logp_current": ("current", "v, then after each of 2 updates")}
    assert dict(e.pairs) == {"ratio": "current / old", "correction": "old / rollout"}
