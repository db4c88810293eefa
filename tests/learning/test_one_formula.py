"""The formula that is shown is the one that trains: changing a choice's term changes the trained gradient alike."""

from __future__ import annotations

import pytest
import torch

from rldsl.axes import discover
from rldsl.runtime.executor import execute
from rldsl.runtime.journal import read_journal

from .training import opened

RECIPE = """recipe doubled {{
  feedback     = verify(regex, pattern: "[a-k]")
  sampling     = group(4, max_tokens: 4)
  advantage    = group_mean
  ratio        = token(current / old)
  gate         = {gate}
  reduction    = token_mean
  distribution = on_policy
  system       = sync on colocated
  model   {{ policy: "toy:llama-1x32", dtype: float32 }}
  data    {{ train: "toy:largest", prompts: 8 }}
  optim   {{ sgd(lr: 0.1), clip_grad: none }}
  budget  {{ steps: 1 }}
  track   {{ mlflow: none }}
}}
"""


def gradient(folder, gate: str) -> tuple[torch.Tensor, float]:
    """The gradient of the one update of a run, and its norm as reported."""
    with opened(folder, RECIPE.format(gate=gate)) as run:
        execute(run)
        found = torch.cat([p.grad.flatten() for p in run.trainer.policy.parameters()])
    return found, next(e.data["metrics"]["grad_norm"] for e in read_journal(folder) if e.kind == "step")


@pytest.mark.parametrize("gate", ["clip", "cispo", "double_sided"])
def test_doubling_a_gates_term_doubles_the_trained_gradient_bit_for_bit(gate, tmp_path, monkeypatch) -> None:
    written = f"{gate}(0.3, 5)" if gate == "double_sided" else f"{gate}(0.2)"
    once, norm = gradient(tmp_path / "once", written)
    cls = discover.find("gate", gate)
    term = cls.term
    monkeypatch.setattr(cls, "term", lambda self, r, advantage, logp: 2.0 * term(self, r, advantage, logp))
    twice, double = gradient(tmp_path / "twice", written)
    assert float(once.abs().max()) > 1e-4
    assert torch.equal(twice, 2 * once) and double == 2 * norm


def test_doubling_an_advantage_doubles_the_trained_gradient(tmp_path, monkeypatch) -> None:
    once, norm = gradient(tmp_path / "once", "none")
    cls = discover.find("advantage", "group_mean")
    estimate = cls.estimate
    monkeypatch.setattr(cls, "estimate", lambda self, *args: 2.0 * estimate(self, *args))
    twice, double = gradient(tmp_path / "twice", "none")
    assert torch.equal(twice, 2 * once) and double == 2 * norm


def test_a_regularisers_term_adds_its_own_gradient(tmp_path, monkeypatch) -> None:
    """Twice the entropy term moves the gradient once more by what the entropy term alone moved it."""
    plain, _ = gradient(tmp_path / "plain", "clip(0.2)")
    once, _ = gradient(tmp_path / "once", "clip(0.2) + entropy(0.1)")
    cls = discover.find("gate", "entropy")
    bonus = cls.bonus
    monkeypatch.setattr(cls, "bonus", lambda self, r: 2.0 * bonus(self, r))
    twice, _ = gradient(tmp_path / "twice", "clip(0.2) + entropy(0.1)")
    assert float((once - plain).abs().max()) > 1e-6
    assert torch.allclose(twice - plain, 2 * (once - plain), atol=1e-7)
