"""Pretraining texts in the update: the gradient of their mean log-likelihood, once, in any split, resumed where it was.
"""

from __future__ import annotations

import pytest
import torch

from rldsl.backends.local.training.forward import forward
from rldsl.runtime.executor import execute, make_batch, phases, walk
from rldsl.runtime.journal import read_journal
from rldsl.runtime.stages_train import pretraining
from rldsl.runtime.trajectory import SamplingOptions

from .training import flat, opened, train

RECIPE = """recipe r {
  feedback = verify(exact)
  sampling = group(2, max_tokens: 4)
  advantage = group_mean
  ratio = token(current / old)
  gate = none + pretrain_mix(0.5)
  reduction = token_mean
  distribution = on_policy
  system = sync on colocated
  model { policy: "toy:llama-1x32", dtype: float32 }
  data { train: "toy:copy", prompts: 4, pretrain: "toy:sort", pretrain_texts: 6 }
  optim { sgd(lr: 0.1), clip_grad: none }
  budget { steps: 6 }
}
"""


def test_the_step_is_the_gradient_of_the_texts(tmp_path):
    """The policy answers nothing right, so the texts alone move it: θ + lr·0.5·∂ mean log π(x)."""
    with opened(tmp_path, RECIPE) as run:
        make, learn, _ = phases(run.graph)
        rows, policy = pretraining(run, run.graph.node("update")), run.trainer.policy
        logps = forward(policy, rows, frozenset({"logp_current"}), SamplingOptions(1.0, 1), grad=True)["logp_current"]
        expected = torch.cat([g.flatten() for g in torch.autograd.grad(logps.sum() / 6, list(policy.parameters()))])
        before, work = flat(policy), make_batch(run, make, 0)
        walk(run, work, learn)
        assert torch.allclose(flat(policy) - before, 0.1 * 0.5 * expected, atol=1e-6)
        means = work.tally.means()
        assert means["objective/pretrain_mix"] == pytest.approx(0.5 * means["logp_pretrain"])
        assert means["logp_pretrain"] == pytest.approx(float(logps.sum()) / 6, rel=1e-5)
        assert [r.prompt + r.tokens for r in pretraining(run, run.graph.node("update"))] == list(run.pretrain[6:12])


def test_no_split_changes_it(tmp_path):
    whole = train(tmp_path / "a", RECIPE)
    split = train(tmp_path / "b", RECIPE, "cluster.micro_tokens=20")
    assert torch.allclose(whole.policy, split.policy, atol=1e-6)


def test_the_texts_become_likely(tmp_path):
    with opened(tmp_path, RECIPE.replace("sgd(lr: 0.1)", "adamw(lr: 1e-2)")) as run:
        execute(run)
    seen = [e.data["metrics"]["logp_pretrain"] for e in read_journal(tmp_path) if e.kind == "step"]
    assert seen[-1] > seen[0] + 5
