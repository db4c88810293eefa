import json
import xml.etree.ElementTree as xml
from dataclasses import replace

import pytest

from rldsl.algebra.render_unicode import unicode
from rldsl.compiler import arithmetic
from rldsl.compiler.draw import edges, mermaid, svg, tree
from rldsl.compiler.explain import explain
from rldsl.compiler.explain_html import html
from rldsl.compiler.explain_json import to_json
from rldsl.compiler.explain_text import text
from rldsl.compiler.recipe import Sum
from rldsl.compiler.settings import Budget, Cluster, Data, Model

from .hand_made import CURRENT_OLD, grpo, node, with_optim

VERIFY = node("feedback", "verify", "numeric")


def with_settings(recipe, **blocks):
    return replace(recipe, settings=replace(recipe.settings, **blocks))


def rich():
    recipe = grpo(regularisers=(node("gate", "kl", 0.04), node("gate", "entropy", 0.0)),
                  distribution=(node("distribution", "icepop"), node("distribution", "max_lag", 3)),
                  sampling=(node("sampling", "group", 8, max_tokens=20000), node("sampling", "keep", "mixed")),
                  feedback=Sum((VERIFY, node("feedback", "overlong"))))
    recipe = with_settings(recipe, data=Data(train="toy:addition", prompts=64), model=Model(policy="toy:llama-2x64"),
                           budget=Budget(steps=10))
    return with_optim(recipe, updates_per_batch=4)


def test_the_objective_is_one_formula_with_the_ratio_as_a_symbol():
    e = explain(rich())
    assert unicode(e.objective) == ("Σ_t wₜ·(dₜ·min(rₜ·Aₜ, clip(rₜ, 0.8, 1.2)·Aₜ) "
                                    "− 0.04·(exp±(log π_ref − ℓₜ) − 1 + ℓₜ − log π_ref))")
    parts = {unicode(p.symbol): unicode(p.formula) for p in e.parts}
    assert parts["wₜ"] == "1 / (N·Tᵢ)" and parts["rₜ"] == "exp±(ℓₜ − log π_old)"
    assert parts["Rᵢ"] == "Sᵢ + clip((16384 − Tᵢ) / 4096, −1, 0)"
    assert [p.what for p in e.keeps] == ["keep: keeps the group", "max_lag: stays in the batch"]


def test_a_correction_of_one_and_a_sequence_ratio():
    assert unicode(explain(grpo()).objective) == "Σ_t wₜ·min(rₜ·Aₜ, clip(rₜ, 0.8, 1.2)·Aₜ)"
    sequence = explain(grpo(ratio=node("ratio", "sequence", CURRENT_OLD), gate=node("gate", "none")))
    assert unicode(sequence.objective) == "Σ_t wₜ·sᵢ·Aₜ"


def test_every_log_prob_names_its_policy_versions_and_readers():
    e = explain(replace(rich(), schedule=node("system", "one_step_off")))
    found = {q.name: q for q in e.quantities}
    assert found["logp_rollout"].versions == "v−1 … v" and found["logp_rollout"].computed == "recorded when sampled"
    assert found["logp_old"].versions == "v" and found["logp_old"].readers == ("ratio", "gate", "correction")
    assert found["logp_current"].versions == "v, then after each of 4 updates"
    assert found["logp_ref"].readers == ("kl",)
    assert dict(e.pairs) == {"ratio": "current / old", "correction": "old / rollout", "kl": "current / ref"}
    assert dict(e.models).keys() == {"policy", "reference"}


def test_a_model_says_which_ranks_it_has_to_itself():
    together = dict(explain(rich()).models)
    apart = dict(explain(with_settings(rich(), cluster=Cluster(None, nodes=1, reference=2))).models)
    assert apart["reference"] == f"{together['reference']}; in 2 ranks of its own"
    assert apart["policy"] == together["policy"]


def test_a_cluster_has_a_table_of_its_roles():
    recipe = with_settings(replace(rich(), placement=node("system", "disaggregated", 4, 3)),
                           cluster=Cluster(None, nodes=1, gpus_per_node=10, reference=2, reward=2, judge=1),
                           model=Model(policy="Qwen/Qwen2.5-7B", judge="Qwen/Qwen2.5-0.5B"))
    rubric = node("feedback", "judge", ("{response}?",))
    found = explain(replace(recipe, feedback=Sum((VERIFY, rubric))))
    assert [(r.role, r.processes, r.takes) for r in found.roles] == [
        ("rollout", 4, "1 CPU + 1 GPU"), ("train", 3, "1 CPU + 1 GPU"), ("reference", 2, "1 CPU + 1 GPU"),
        ("judge", 1, "1 CPU + 1 GPU"), ("reward", 2, "1 CPU")]
    holds = {r.role: (r.holds, r.memory) for r in found.roles}
    assert holds["judge"] == ("the judge Qwen/Qwen2.5-0.5B", "1.98 GB")
    assert holds["reward"] == ("the functions that score", None)
    assert holds["reference"] == ("a rank of the policy before its first update", "7.62 GB")
    assert "\nRoles of the cluster\n  role " in text(found) and "<h2>Roles of the cluster</h2>" in html(found)
    assert to_json(found)["roles"][3]["holds"] == holds["judge"][0]
    assert dict(found.models)["judge"].endswith("; in a process of its own")


def test_what_is_not_apart_is_in_the_trainer_s_ranks_and_one_process_has_no_table():
    alone = explain(rich())
    assert not alone.roles and "Roles of the cluster" not in text(alone) + html(alone)
    train = next(r for r in explain(with_settings(rich(), cluster=Cluster(None, nodes=1))).roles if r.role == "train")
    assert train.holds == "a rank of the policy, the reference"


def test_removed_forwards_name_their_pass():
    e = explain(grpo(regularisers=(node("gate", "kl", 0.0),)))
    assert e.gone == {"logprob.ref": "unread", "logprob.old": "old_is_current"}
    assert next(q for q in e.quantities if q.name == "logp_old").computed == "no forward: logprob.old was removed"
    drawn = tree(e.before, e.gone).split("\n")
    assert any("logprob.ref" in line and "removed by unread" in line for line in drawn)


def facts(prompts, siblings, updates, **optim):
    recipe = grpo(sampling=(node("sampling", "group", siblings, max_tokens=16),))
    recipe = with_settings(recipe, data=Data(prompts=prompts))
    return dict(arithmetic.batch(with_optim(recipe, updates_per_batch=updates, **optim)))


def test_batch_arithmetic_names_every_unit():
    found = facts(64, 8, 4)
    assert found["responses per batch"] == "64 prompts × 8 = 512 responses"
    assert found["updates per batch"] == "4 updates" and found["responses per update"] == "128 responses"
    assert found["on-policy"].startswith("at the batch's start only: updates 2 to 4 train")
    assert facts(64, 8, 1)["on-policy"] == "yes: one update on data of the current weights"
    assert facts(64, 8, 1, epochs=2)["updates per batch"] == "1 × 2 epochs = 2 updates"


def test_a_share_that_is_not_whole_is_shown_as_it_is():
    assert facts(64, 8, 5)["prompts per update"] == "64 / 5 = 12.8 prompts: not a whole number"


def test_an_older_batch_is_not_on_policy():
    recipe = replace(rich(), schedule=node("system", "one_step_off"))
    assert dict(arithmetic.batch(recipe))["on-policy"] == "no: data may be 1 batch older than the trainer"


@pytest.mark.parametrize("limit, says", [
    (20480, "0 up to 16,384 tokens, then to -1 at 20,480 tokens"),
    (18432, "0 up to 16,384 tokens, then to -1 at 20,480 tokens; a response has at most 18,432 tokens, so -0.5 is the "
            "furthest it goes"),
])
def test_the_overlong_ramp_comes_from_its_formula(limit, says):
    recipe = grpo(feedback=Sum((VERIFY, node("feedback", "overlong"))),
                  sampling=(node("sampling", "group", 4, max_tokens=limit),))
    assert dict(arithmetic.ramps(recipe)) == {"overlong by length": says}


def test_memory_counts_what_the_graph_loads():
    found = dict(explain(rich()).memory)
    assert found["parameters"].startswith("about 129 thousand") and "reference: weights" in found
    assert "reference: weights" not in dict(explain(with_settings(grpo(), model=Model(policy="toy:llama-2x64"))).memory)
    assert "critic: weights, gradients, optimizer" in dict(explain(with_settings(
        grpo(advantage=(node("advantage", "gae"),)), model=Model(policy="toy:llama-2x64"))).memory)
    unknown = with_settings(grpo(), model=Model(policy="nobody/knows"))
    assert dict(explain(unknown).memory) == {"memory": "unknown: nothing here says how large nobody/knows is"}


def test_the_text_has_every_section():
    shown = text(explain(rich()))
    for title in ("Objective (maximised)", "Policies and who reads them", "Models", "What one batch does",
                  "Saved work", "Batch arithmetic", "Memory, a first estimate"):
        assert f"\n{title}" in shown
    assert "overlong by length" in shown and max(map(len, shown.split("\n"))) < 220


def test_the_page_is_well_formed_and_needs_nothing_else():
    page = html(explain(rich()))
    body = page[page.index("<html"):].replace('<meta charset="utf-8">', "")
    root = xml.fromstring(body)
    assert len(root.findall(".//math")) > 8 and root.find(".//{http://www.w3.org/2000/svg}rect") is not None
    assert "<script" not in page and "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_json_is_plain_data():
    data = json.loads(json.dumps(to_json(explain(rich()))))
    assert data["objective"]["latex"].startswith(r"\sum_{t} w_t")
    assert data["batch"]["responses per batch"] == "64 prompts × 8 = 512 responses"


def test_drawings_hold_every_node_and_edge():
    e = explain(rich())
    links = edges(e.after)
    assert ("sample", "score", "trajectories") in links and ("filter.1", "logprob.old", "trajectories") in links
    drawn = mermaid(e.after)
    assert all(n.id.replace(".", "_") + f"[{n.id}]" in drawn for n in e.after.nodes)
    picture = svg(e.after)
    assert picture.count("<rect") == len(e.after.nodes) and picture.count('class="edge"') == len(links)
