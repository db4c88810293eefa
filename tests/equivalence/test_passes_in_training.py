"""Three batches of real training give the same weights with the passes and without them."""

import pytest
import torch

from rldsl.backends.local.launch import open_run
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.passes import PASSES
from rldsl.compiler.resolve import resolve
from rldsl.runtime.executor import execute

RECIPE = """recipe r {{
  feedback     = verify(exact) + format(".*[a-k].*", reward: 1){reward}
  sampling     = {sampling}
  advantage    = {advantage}
  ratio        = token(current / old)
  gate         = clip(0.2){penalty}
  reduction    = token_mean
  distribution = {distribution}
  system       = sync on colocated
  model   {{ policy: "toy:llama-1x16", dtype: float32 }}
  data    {{ train: "toy:largest", prompts: 8 }}
  optim   {{ sgd(lr: 0.5), updates_per_batch: {updates} }}
  budget  {{ steps: 3 }}
  cluster {{ local, micro_tokens: 60 }}
  track   {{ mlflow: none }}
}}
"""
PLAIN = {"reward": "", "sampling": "group(4, max_tokens: 4)", "advantage": "group_norm", "penalty": "",
         "distribution": "on_policy", "updates": 1}
CASES = {
    "plain": {}, "a correction": {"distribution": "icepop"}, "no KL": {"penalty": " + kl(0)"},
    "KL and entropy": {"penalty": " + kl(0.1) + entropy(0.01)"},
    "exact KL": {"penalty": " + kl(0.1, estimator: exact) + entropy(0.01)"}, "two updates": {"updates": 2},
    "a critic": {"advantage": "gae", "sampling": "single(max_tokens: 4)"},
    "KL in the reward": {"reward": " + kl_in_reward(0.1, grain: response)"},
}
ALL = frozenset(p.name for p in PASSES)
CLOSE = 1e-6


def train(tmp_path, off, case):
    """The weights before and after, as two flat vectors."""
    folder = tmp_path / ("off-" + "-".join(sorted(off)))
    folder.mkdir()
    (folder / "r.rl").write_text(RECIPE.format(**PLAIN | CASES[case]))
    plan, _ = compile_recipe(resolve(str(folder / "r.rl")), off=off)
    with open_run(plan, folder, folder, lambda kind, data: None, resume=False) as run:
        flat = lambda: torch.cat([p.detach().flatten().clone() for p in run.trainer.policy.parameters()])  # noqa: E731
        before = flat()
        execute(run)
        return before, flat()


@pytest.mark.parametrize("case", CASES)
def test_all_passes_together(tmp_path, case):
    before, naive = train(tmp_path, ALL, case)
    _, saved = train(tmp_path, frozenset(), case)
    assert (naive - before).abs().max() > 0.01
    assert (naive - saved).abs().max() < CLOSE


ACTS_ON = {"unread": "no KL", "one_forward": "KL and entropy", "shared_prompts": "two updates"}


@pytest.mark.parametrize("only", sorted(ALL))
def test_each_pass_alone(tmp_path, only):
    case = ACTS_ON.get(only, "a correction")
    _, naive = train(tmp_path, ALL, case)
    _, saved = train(tmp_path, ALL - {only}, case)
    assert (naive - saved).abs().max() < CLOSE
