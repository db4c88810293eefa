"""A run that trains low-rank additions to one layer, on rounded weights, beside a second stream of texts."""

from __future__ import annotations

import torch
from safetensors.torch import load_file

from rldsl.runtime.journal import kept_events, read_journal

from . import runs

STEPS = 3
RECIPE = f"""recipe parts {{
  feedback     = verify(exact)
  sampling     = group(4, max_tokens: 6)
  advantage    = group_norm
  ratio        = token(current / old)
  gate         = none + kl(0.1) + pretrain_mix(0.1)
  reduction    = token_mean
  distribution = tis(2.0) + qat(fp8)
  system       = sync on disaggregated(rollout: 1, train: 2)

  model    {{ policy: "toy:llama-2x128", warm_start: 60, dtype: float32 }}
  data     {{ train: "toy:reverse", prompts: 16, pretrain: "toy:reverse", pretrain_texts: 4 }}
  optim    {{ adamw(lr: 2e-3), lora_rank: 4, layers: 50%..100% }}
  budget   {{ steps: {STEPS} }}
  cluster  {{ nodes: 1, tensor: 2 }}
  track    {{ mlflow: none, checkpoint_every: 1 }}
}}
"""


def test_one_layers_additions_are_trained_and_the_engine_has_what_is_computed_with(tmp_path):
    """C-025, C-065: every push is another one, and both engines compute with it."""
    (tmp_path / "rldsl.toml").touch()
    (tmp_path / "parts.rl").write_text(RECIPE)
    done = runs.Process(tmp_path, "run", "parts.rl", "--out", str(tmp_path / "run"))
    assert done.wait() == 0, done.said()
    events = [*kept_events(read_journal(tmp_path / "run"))]
    found = [e.data["metrics"] for e in events if e.kind == "step"]
    assert len(found) == STEPS and all(m["mismatch/abs"] < 1e-4 for m in found)
    assert abs(found[0]["objective/kl"]) < 1e-6 < abs(found[-1]["objective/kl"]), "the reference is rounded too"
    assert all(m["grad_norm"] > 0 and m["logp_pretrain"] < 0 for m in found)
    folders = sorted((tmp_path / "run" / "checkpoints").glob("batch-*"))
    first, last = (load_file(folder / "policy.safetensors") for folder in (folders[0], folders[-1]))
    moved = {name for name in last if not torch.equal(first[name], last[name])}
    assert moved == {name for name in last if name.startswith("model.layers.1.") and "_proj" in name}
    assert done.gone()
