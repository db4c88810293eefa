"""A KL target to the batch's start steers the coefficient by what the updates really did."""

from __future__ import annotations

import pytest

from rldsl.runtime.executor import execute

from .training import opened

RECIPE = """recipe r {
  feedback = similarity
  sampling = group(4, max_tokens: 4)
  advantage = group_mean
  ratio = token(current / old)
  gate = none + kl(1, to: old, estimator: k3, target: TARGET)
  reduction = token_mean
  distribution = on_policy
  system = sync on colocated
  model { policy: "toy:llama-1x32", dtype: float32, warm_start: 30 }
  data { train: "toy:copy", prompts: 8 }
  optim { adamw(lr: 5e-3), updates_per_batch: 2 }
  budget { steps: 4 }
}
"""


@pytest.mark.parametrize("target, least, most", [("1e-6", 2.0, 16.0), ("100", 0.0625, 0.0625)])
def test_the_coefficient_follows(target, least, most, tmp_path):
    with opened(tmp_path, RECIPE.replace("TARGET", target)) as run:
        execute(run)
        assert least <= run.progress.carried["kl"]["coef"] <= most
