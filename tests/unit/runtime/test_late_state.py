"""Numbers that the finished updates decide: a KL coefficient that follows the distance from the batch's start."""

from __future__ import annotations

import json

import pytest

from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.objective import build
from rldsl.compiler.objective_data import from_json, to_json
from rldsl.compiler.resolve import resolve
from rldsl.runtime.probe import probe, read_batch
from tests.probing import probe_of, recipe_of, row

GATE = "none + kl(2, to: old, estimator: k2, target: 0.1)"


@pytest.mark.parametrize("ratio, coef", [(1.2, 1.0), (1.55, 2.0), (2.0, 4.0), (1.0, 1.0)])
def test_it_doubles_beyond_the_target_and_halves_before_it(ratio, coef):
    """½·ln² of these ratios: 0.0166, 0.096, 0.24, 0."""
    found = probe_of([row(ratio, ratio, reward=1.0)], gate=GATE)
    assert found["state"] == {"kl": {"coef": coef}}


def test_what_was_carried_goes_on():
    batch = {"responses": [row(2.0)], "state": {"kl": {"coef": 8.0}}}
    found = probe(build(recipe_of(gate=GATE)), read_batch(json.dumps(batch), "BATCH.json"))
    assert found["state"] == {"kl": {"coef": 16.0}}
    assert found["terms"]["kl"] == pytest.approx(-8.0 * 0.2402265)


def test_the_plan_keeps_when_it_is_computed():
    objective = build(recipe_of(gate=GATE))
    assert from_json(to_json(objective)) == objective and [c.late for c in objective.state] == [True]


def test_one_update_per_batch_still_compares_with_the_batch_s_start(tmp_path):
    """`old` may not become the current policy where the new one is compared with it."""
    blocks = 'model { policy: "toy:llama-1x16" }\n data { train: "toy:copy", prompts: 2 }\n optim' \
             ' { adamw(lr: 1e-3) }\n budget { steps: 1 }'
    axes = "\n".join(f"  {a} = {t}" for a, t in {
        "feedback": "verify(exact)", "sampling": "group(2, max_tokens: 4)", "advantage": "group_mean",
        "ratio": "token(current / old)", "gate": GATE, "reduction": "token_mean", "distribution": "on_policy",
        "system": "sync on colocated"}.items())
    (tmp_path / "r.rl").write_text(f"recipe r {{\n{axes}\n {blocks}\n}}\n")
    plan = compile_recipe(resolve(str(tmp_path / "r.rl")))[0]
    ids = [n.id for n in plan.graph.nodes]
    assert ids.index("logprob.old") < ids.index("update") < ids.index("logprob.after") < ids.index("carry")
    assert plan.graph.node("carry").reads == ("trajectories", "logp_current", "logp_old", "state.kl.coef")
