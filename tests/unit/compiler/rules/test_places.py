"""A finding's main place is where the offending value was written, whichever layer that is."""

from dataclasses import dataclass

import pytest

from rldsl.compiler.check import check
from rldsl.compiler.resolve import resolve, sources

from .sample_choices import sample_choices  # noqa: F401

pytestmark = pytest.mark.usefixtures("sample_choices")
SEQUENCE = "ratio = sequence(current / old)\ngate = clip(3e-4)\nreduction = response_mean"
NOTES = {"RL507", "RL508"}
QWEN = 'distribution = tis(2.0)\nmodel.policy = "Qwen/Qwen2.5-7B"\n'
QWEN_32 = 'distribution = tis(2.0)\nmodel { policy: "Qwen/Qwen2.5-32B", dtype: bf16 }\n'
EIGHT = 'distribution = tis(2.0)\ncluster { nodes: 1, gpus_per_node: 8, gpu: "H800-80GB" }'
TURNS = "feedback = verify(exact) + mask_infra_failures\nsampling = turns(8, n: 8, max_tokens: 64)"
LAGGED = "system = one_step_off on disaggregated(rollout: 1, train: 1)"


@dataclass(frozen=True)
class Case:
    """`path = value` on top of the sound `setup` breaks a rule; `marked` is what is underlined, if not the value."""

    code: str
    path: str
    value: str
    setup: str = ""
    marked: str = ""

    @property
    def constant(self):
        return self.value.replace(".", "").isdigit()


CASES = [
    Case("RL301", "sampling.n", "1"),
    Case("RL301", "sampling", "single(max_tokens: 4)"),
    Case("RL302", "sampling", "group(1, max_tokens: 4) | keep(mixed, max_rounds: 3)", "advantage = batch_mean",
         "keep(mixed, max_rounds: 3)"),
    Case("RL302", "sampling.n", "1",
         "advantage = batch_mean\nsampling = group(8, max_tokens: 4) | keep(mixed, max_rounds: 3)"),
    Case("RL303", "sampling.temperature", "0"),
    Case("RL303", "sampling.top_k", "1"),
    Case("RL304", "reduction", "sequence_mean"),
    Case("RL304", "feedback", "format(\"[0-9]+\")", "sampling = group(8, max_tokens: 4) | keep(mixed, max_rounds: 3)"),
    Case("RL305", "gate", "clip(0.2) + kl(0.04)", "feedback = verify(exact) + kl_in_reward(0.05, grain: response)",
         "kl(0.04)"),
    Case("RL305", "feedback", "verify(exact) + kl_in_reward(0.05, grain: response)", "gate = clip(0.2) + kl(0.04)",
         "kl_in_reward(0.05, grain: response)"),
    Case("RL306", "feedback", "verify(exact) + 0.5 * kl_in_reward(0.05)", marked="kl_in_reward(0.05)"),
    Case("RL306", "feedback.grain", "token", "feedback = verify(exact) + kl_in_reward(0.05, grain: response)"),
    Case("RL307", "system", "free_running on disaggregated(rollout: 1, train: 1)", "distribution = uncorrected",
         "free_running"),
    Case("RL307", "distribution", "uncorrected",
         "distribution = max_lag(2)\nsystem = free_running on disaggregated(rollout: 1, train: 1)"),
    Case("RL309", "distribution", "max_lag(2) + tis(2.0)", "ratio = token(current / rollout)", "tis(2.0)"),
    Case("RL309", "ratio", "token(current / rollout)", "distribution = tis(2.0)", "current / rollout"),
    Case("RL310", "sampling.temperature", "0", "sampling = single(max_tokens: 4)\nadvantage = batch_mean"),
    Case("RL311", "optim.updates_per_batch", "2", "ratio = none\ngate = none\noptim.updates_per_batch = 1"),
    Case("RL311", "optim.epochs", "2", "ratio = none\ngate = none\noptim.updates_per_batch = 1"),
    Case("RL311", "distribution", "on_policy",
         "distribution = max_lag(2)\nratio = token(current / rollout)\n" + LAGGED),
    Case("RL312", "sampling.top_p", "0.8", "distribution = tis(2.0)"),
    Case("RL312", "sampling.top_k", "20"),
    Case("RL313", "system", "one_step_off on colocated", "distribution = max_lag(2)\nratio = token(current / rollout)",
         "colocated"),
    Case("RL314", "ratio", "sequence(current / old)",
         "sampling = single(max_tokens: 4)\nadvantage = gae\nreduction = response_mean"),
    Case("RL314", "advantage", "gae",
         "sampling = single(max_tokens: 4)\nadvantage = batch_mean\nratio = sequence(current / old)\n"
         "gate = clip(3e-4)\nreduction = response_mean"),
    Case("RL315", "distribution", "mis(0.5..2.0)", SEQUENCE),
    Case("RL315", "ratio", "sequence(current / old)",
         "distribution = mis(0.5..2.0)\ngate = clip(3e-4)\nreduction = response_mean"),
    Case("RL316", "distribution", "replay(routing)", 'model.policy = "Qwen/Qwen2.5-7B"', "routing"),
    Case("RL317", "distribution", "replay(candidates)", marked="candidates"),
    Case("RL328", "cluster.tensor", "2", "distribution = bitwise\ncluster { nodes: 1, gpus_per_node: 8 }"),
    Case("RL514", "distribution", "bitwise + tis(2.0)", marked="tis(2.0)"),
    Case("RL514", "model.dtype", "fp32", "distribution = head(fp32)"),
    Case("RL318", "advantage", "step_gae"),
    Case("RL318", "feedback", "verify(exact) + tool_format(0.5)", marked="tool_format(0.5)"),
    Case("RL319", "sampling", "turns(8, n: 8, max_tokens: 64)"),
    Case("RL319", "feedback", "verify(exact)", TURNS),
    Case("RL320", "feedback.max", "8", "feedback = verify(exact) + overlong(max: 4, buffer: 2)"),
    Case("RL320", "sampling.max_tokens", "3", "feedback = verify(exact) + overlong(max: 4, buffer: 2)"),
    Case("RL323", "ratio", "none", "optim.updates_per_batch = 1"),
    Case("RL323", "gate", "none + kl(0.1, weight: ratio)", "ratio = none\ngate = none\noptim.updates_per_batch = 1",
         "ratio"),
    Case("RL324", "feedback", "verify(exact) + drop_truncated + drop_truncated(from_group: true)",
         marked="drop_truncated(from_group: true)"),
    Case("RL325", "distribution", "on_policy + retire(2)", marked="retire(2)"),
    Case("RL325", "system", "sync on colocated", "distribution = retire(2)\nratio = token(current / rollout)\n"
         "system = partial(0.8) on colocated", "sync"),
    Case("RL326", "advantage", "decoupled(lambda: 1)"),
    Case("RL326", "feedback", "verify(exact)",
         "feedback = verify(exact) + overlong(max: 6, buffer: 2)\nadvantage = decoupled(lambda: 1)"),
    Case("RL327", "optim.updates_per_batch", "5"),
    Case("RL327", "data.prompts", "33"),
    Case("RL332", "reduction", "per_segment", TURNS.replace("max_tokens: 64)", "max_tokens: 64) | compaction")),
    Case("RL330", "sampling.max_tokens", "512"),
    Case("RL330", "model.max_prompt", "509"),
    Case("RL330", "model.context", "4"),
    Case("RL333", "system.resume", "keep_state",
         "distribution = bitwise + retire(2)\nratio = token(current / rollout)\nsystem = partial(0.8) on colocated"),
    Case("RL401", "cluster.rollout_tensor", "3",
         "distribution = tis(2.0)\ncluster { nodes: 1, gpus_per_node: 4, gpu: \"H800-80GB\" }"),
    Case("RL401", "cluster.gpus_per_node", "6",
         "distribution = tis(2.0)\ncluster { nodes: 1, gpus_per_node: 8, gpu: \"H800-80GB\", tensor: 4 }"),
    Case("RL401", "system", "sync on disaggregated(rollout: 7, train: 4)",
         "distribution = tis(2.0)\ncluster { nodes: 1, gpus_per_node: 8, gpu: \"H800-80GB\" }", "7"),
    Case("RL401", "system", "sync on elastic(dedicated: 7, flexible: 4)", EIGHT, "7"),
    Case("RL401", "system", "sync on elastic(dedicated: 3, flexible: 4)", EIGHT + "\ncluster.rollout_tensor = 2", "3"),
    Case("RL401", "system", "sync on elastic(dedicated: 4, flexible: 3)", EIGHT + "\ncluster.tensor = 2", "3"),
    Case("RL401", "cluster.tensor", "2", EIGHT + "\nsystem = sync on disaggregated(rollout: 4, train: 3)"),
    Case("RL402", "cluster.tensor", "8", QWEN + "cluster { nodes: 1, gpus_per_node: 8 }"),
    Case("RL402", "model.policy", '"Qwen/Qwen2.5-7B"',
         'distribution = tis(2.0)\ncluster { nodes: 1, gpus_per_node: 8, tensor: 8 }\n'
         'model.policy = "owner/unknown"'),
    Case("RL403", "cluster.gpu", '"T4-8GB"', QWEN + "cluster { nodes: 1, gpus_per_node: 8 }"),
    Case("RL403", "cluster.gpus_per_node", "2", QWEN + 'cluster { nodes: 1, gpus_per_node: 8, gpu: "A100-40GB" }'),
    Case("RL403", "system", "sync on disaggregated(rollout: 7, train: 1)",
         QWEN + 'cluster { nodes: 1, gpus_per_node: 8, gpu: "H800-80GB" }', "1"),
    Case("RL403", "cluster.rollout_tensor", "1", QWEN_32 +
         'cluster { nodes: 2, gpus_per_node: 8, gpu: "H800-40GB", rollout_tensor: 8 }'),
    Case("RL404", "cluster.rollout_tensor", "1",
         QWEN + "cluster { nodes: 1, gpus_per_node: 8, host_memory: 64GB, rollout_tensor: 4 }"),
    Case("RL404", "cluster.host_memory", "64GB", QWEN + "cluster { nodes: 1, gpus_per_node: 8 }"),
    Case("RL501", "optim.updates_per_batch", "1"),
    Case("RL501", "gate", "clip(0.1) + entropy(0.01)", "gate = none\noptim.updates_per_batch = 1", "clip(0.1)"),
    Case("RL502", "gate.low", "0.2", "ratio = sequence(current / old)\nreduction = sequence_mean\ngate = clip(3e-4)"),
    Case("RL502", "gate", "clip(3e-4, high: 4e-4)", marked="3e-4"),
    Case("RL503", "cluster.nodes", "2"),
    Case("RL504", "model.policy", '"owner/Qwen3-30B-A3B"', QWEN + "cluster { nodes: 1, gpus_per_node: 8 }"),
    Case("RL505", "reduction", "token_mean",
         "ratio = sequence(current / old)\nreduction = sequence_mean\ngate = clip(3e-4)"),
    Case("RL506", "sampling", "group(8, max_tokens: 4) | keep(mixed)", marked="keep(mixed)"),
    Case("RL506", "sampling.max_rounds", "none", "sampling = group(8, max_tokens: 4) | keep(mixed, max_rounds: 3)"),
    Case("RL507", "reduction.uniform_groups", "count", "reduction = token_mean(uniform_groups: exclude)"),
    Case("RL508", "advantage", "group_norm", "advantage = group_mean"),
    Case("RL509", "system", "stream(push_every: 1) on disaggregated(rollout: 1, train: 1)",
         "distribution = max_lag(2)\nratio = token(current / rollout)", "stream(push_every: 1)"),
    Case("RL511", "evidence.seeds", "1"),
    Case("RL513", "sampling.temperature", "0.7"),
    Case("RL517", "distribution", "max_lag(2) + tis(2.0)",
         "distribution = max_lag(2)\ngate = clip(0.2) + kl(0.1, to: old)\n" + LAGGED, "tis(2.0)"),
    Case("RL517", "ratio", "token(current / old)",
         "distribution = max_lag(2)\nratio = token(current / rollout)\n" + LAGGED),
    Case("RL518", "gate", "clip(0.2) + kl(0.1, estimator: k1)", marked="k1"),
    Case("RL519", "feedback", "verify(exact) + mask_infra_failures + drop_truncated", TURNS, "drop_truncated"),
    Case("RL521", "sampling", "group(8, max_tokens: 6) | keep(mixed, max_rounds: 3)",
         'feedback = verify(exact) + verify(regex, pattern: "[a-k]")', "keep(mixed, max_rounds: 3)"),
]
IDS = [f"{c.code} {c.path} = {c.value}" for c in CASES]
every = pytest.mark.parametrize("case", CASES, ids=IDS)
constants = pytest.mark.parametrize("case", [c for c in CASES if c.constant],
                                    ids=[i for c, i in zip(CASES, IDS, strict=True) if c.constant])


def marked(tmp_path, text, code, *, profile=None, sets=()):
    """(file, line, text) under the main label of the one finding with this code in recipe `mine`, and the finding."""
    path = tmp_path / "case.rl"
    path.write_text("import std.quickstart\n" + text, encoding="utf-8")
    (found,) = [d for d in check(resolve(str(path), "mine", profile=profile, sets=sets)) if d.code == code]
    span = next(label.span for label in found.labels if label.primary)
    line = sources([found], sets)[span.file].split("\n")[span.line - 1]
    return (span.file, span.line, line[span.column - 1:span.end_column - 1]), found


def line_of(tmp_path, text):
    rows = (tmp_path / "case.rl").read_text(encoding="utf-8").split("\n")
    return next(i for i, row in enumerate(rows, 1) if text in row)


def where(place, tmp_path, text, case):
    """Whether the main place is the value itself, on the line that holds `text`."""
    file, line, underlined = place
    assert file.endswith("case.rl")
    assert (line, underlined) == (line_of(tmp_path, text), case.marked or case.value)


def on_top(case, *lines):
    """A sound `base`, and a recipe `mine` on top of it with these lines."""
    body = "\n".join(f"  {line}" for line in lines or (f"{case.path} = {case.value}",))
    return f"recipe base extends quickstart {{\n{case.setup}\n}}\nrecipe mine extends base {{\n{body}\n}}\n"


@every
def test_the_setup_alone_is_clean_of_the_code(case, tmp_path):
    path = tmp_path / "case.rl"
    path.write_text("import std.quickstart\n" + on_top(case, "seed = 2"), encoding="utf-8")
    assert case.code not in {d.code for d in check(resolve(str(path), "mine"))}


@every
def test_written_in_the_recipe(case, tmp_path):
    place, _ = marked(tmp_path, on_top(case), case.code)
    where(place, tmp_path, f"  {case.path} = ", case)


@every
def test_written_in_the_parent(case, tmp_path):
    text = on_top(case).replace("recipe mine", "recipe parent") + "recipe mine extends parent { seed = 2 }\n"
    place, _ = marked(tmp_path, text, case.code)
    where(place, tmp_path, f"  {case.path} = ", case)


@every
def test_written_in_a_profile(case, tmp_path):
    text = on_top(case, "profile p {", f"{case.path} = {case.value}", "}")
    place, _ = marked(tmp_path, text, case.code, profile="p")
    where(place, tmp_path, f"  {case.path} = ", case)


@every
def test_written_on_the_command_line(case, tmp_path):
    sets = ["seed=2", f"{case.path}={case.value}"]
    place, _ = marked(tmp_path, on_top(case, "seed = 3"), case.code, sets=sets)
    assert place == ("--set", 2, case.marked or case.value)


@constants
def test_written_through_a_let(case, tmp_path):
    text = f"let bad = {case.value}\n" + on_top(case, f"{case.path} = bad")
    place, found = marked(tmp_path, text, case.code)
    assert place[1:] == (line_of(tmp_path, f"  {case.path} = bad"), "bad")
    (definition,) = [label.span for label in found.labels if label.text == "defined here"]
    assert definition.line == line_of(tmp_path, "let bad")


@constants
def test_computed_from_a_let(case, tmp_path):
    text = "let zero = 0\n" + on_top(case, f"{case.path} = zero + {case.value}")
    place, found = marked(tmp_path, text, case.code)
    assert place[1:] == (line_of(tmp_path, f"  {case.path} = zero"), f"zero + {case.value}")
    assert [x.span.line for x in found.labels if x.text == "defined here"] == [line_of(tmp_path, "let zero")]


@every
def test_every_finding_says_all_it_should(case, tmp_path):
    _, found = marked(tmp_path, on_top(case), case.code)
    assert found.message.endswith(".") and found.why.endswith(".") and found.fix.endswith(".")
    assert all(label.text for label in found.labels)
    assert sum(label.primary for label in found.labels) == 1
    mild = case.code.startswith("RL5") or (case.code, case.path) == ("RL312", "sampling.top_k")
    assert found.severity == ("info" if case.code in NOTES else "warning" if mild else "error")


@pytest.mark.parametrize("code, block, number", [
    ("RL401", "nodes: 1, gpus_per_node: 8, tensor: 3", "3"),
    ("RL403", 'nodes: 1, gpu: "T4-8GB", gpus_per_node: 4', "4"),
    ("RL404", "nodes: 1, gpus_per_node: 8, host_memory: 64GB, rollout_tensor: 1", "1"),
])
def test_of_a_block_the_number_to_change_is_underlined(code, block, number, tmp_path):
    place, _ = marked(tmp_path, f"recipe mine extends quickstart {{\n{QWEN}cluster {{ {block} }}\n}}\n", code)
    assert place[2] == number
