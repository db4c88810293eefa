"""The critic is one: each of its settings changes what is computed, and it learns to foretell returns."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from rldsl.runtime.executor import execute

from .training import flat, opened, train

RECIPE = """recipe critic {
  feedback     = verify(regex, pattern: "[a-k]")
  sampling     = single(max_tokens: 4)
  advantage    = gae(gamma: 1, lambda: 0.95)
  ratio        = token(current / old)
  gate         = clip(0.2)
  reduction    = token_mean
  distribution = on_policy
  system       = sync on colocated
  model   { policy: "toy:llama-1x32", dtype: float32 }
  data    { train: "toy:largest", prompts: 16 }
  optim   { adamw(lr: 1e-3), updates_per_batch: 2 }
  critic  { adamw(lr: 1e-2), value_clip: 10 }
  budget  { steps: 2 }
  track   { mlflow: none }
}
"""
PPO = """import std.ppo
recipe small extends ppo {
  feedback = verify(exact) + kl_in_reward(0.02)
  sampling = single(max_tokens: 2)
  model    { policy: "toy:llama-2x64", warm_start: 60, dtype: float32 }
  data     { train: "toy:largest", prompts: 64 }
  optim    { adamw(lr: 5e-4), updates_per_batch: 4 }
  critic   { adamw(lr: 2e-3), warmup_steps: 2, updates_per_actor: 3 }
  budget   { steps: 40 }
  evaluate { "toy:largest", every: 1000, problems: 100, samples: 2 }
  track    { mlflow: none }
}
"""
SEEDS = (1, 2, 3)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return train(tmp_path_factory.mktemp("plain"), RECIPE)


def test_a_run_repeats_itself(plain, tmp_path) -> None:
    again = train(tmp_path, RECIPE)
    assert torch.equal(again.critic, plain.critic) and torch.equal(again.policy, plain.policy)


def test_the_policy_waits_while_the_critic_warms_up(plain, tmp_path) -> None:
    with opened(tmp_path, RECIPE, "critic.warmup_steps=1", "budget.steps=1") as run:
        policy, critic = flat(run.trainer.policy), flat(run.trainer._critic.critic)
        execute(run)
        assert torch.equal(flat(run.trainer.policy), policy)
        assert not torch.equal(flat(run.trainer._critic.critic), critic)
    whole = train(tmp_path / "whole", RECIPE, "critic.warmup_steps=1")
    assert not torch.equal(whole.policy, plain.policy)
    assert [s["lr"] for s in whole.steps] == [0.0, 1e-3] and [s["lr"] for s in plain.steps] == [1e-3, 1e-3]


def test_the_critic_takes_so_many_steps_for_one_of_the_policys(plain, tmp_path) -> None:
    with opened(tmp_path, RECIPE, "critic.updates_per_actor=3") as run:
        execute(run)
        taken = {name: int(next(iter(t.stepper.optimizer.state.values()))["step"])
                 for name, t in (("policy", run.trainer._trainer), ("critic", run.trainer._critic))}
        assert taken == {"policy": 4, "critic": 12}
        assert not torch.equal(flat(run.trainer._critic.critic), plain.critic)


@pytest.mark.parametrize("change", ["critic.value_clip=0.001", "critic.value_clip=none"])
def test_value_clipping_reaches_the_loss(plain, change: str, tmp_path) -> None:
    """A bound of 10 is never met, so that none at all trains the same; a tight one is met in the second update."""
    found = train(tmp_path, RECIPE, change)
    assert torch.equal(found.critic, plain.critic) == (change == "critic.value_clip=none")


def test_the_critic_has_an_optimizer_of_its_own(plain, tmp_path) -> None:
    slow = train(tmp_path / "slow", RECIPE, "critic.adamw.lr=1e-4")
    shared = train(tmp_path / "shared", RECIPE.replace("adamw(lr: 1e-2), value_clip", "value_clip"))
    same = train(tmp_path / "same", RECIPE, "critic.adamw.lr=1e-3")
    assert not torch.equal(slow.critic, plain.critic)
    assert torch.equal(shared.critic, same.critic)  # without one it takes the policy's


def test_the_critic_begins_as_the_warm_started_policy(tmp_path) -> None:
    with opened(tmp_path, RECIPE, "model.warm_start=5") as run:
        policy, critic = run.trainer.policy.state_dict(), run.trainer._critic.critic.state_dict()
        assert critic.pop("value").eq(0).all()
        assert critic and all(torch.equal(tensor, policy[name]) for name, tensor in critic.items())
        warm = flat(run.trainer.policy)
    with opened(tmp_path / "cold", RECIPE) as run:
        assert not torch.equal(flat(run.trainer.policy), warm)


@pytest.fixture(scope="module")
def ppo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ppo")
    return [train(folder / str(seed), PPO, f"seed={seed}") for seed in SEEDS]


def test_ppo_improves_the_held_out_score_with_every_seed(ppo) -> None:
    """Before and after, seed by seed: each improves by more than three standard errors of 200 answers."""
    for run in ppo:
        first, last = run.held_out
        assert last > first + 3 * (2 * 0.25 / 200) ** 0.5, run.held_out
    assert not any(torch.equal(a.policy, b.policy) for a, b in pairwise(ppo))


def test_explained_variance_rises_from_nothing(ppo) -> None:
    for run in ppo:
        explained = [s["critic/explained_variance"] for s in run.steps]
        assert explained[0] <= 1e-9  # a value head of zeros explains nothing
        assert sum(explained[-8:]) / 8 > 0.3, explained


def test_ppos_critic_is_what_explains(ppo, tmp_path) -> None:
    """With a critic that hardly moves the same run explains nothing."""
    frozen = train(tmp_path, PPO, "seed=1", "critic.adamw.lr=1e-9", "budget.steps=10")
    assert max(s["critic/explained_variance"] for s in frozen.steps) < 0.01
