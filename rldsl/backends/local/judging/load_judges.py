"""The reward model and the judge of a run: loaded, trained first where the recipe says so, frozen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from rldsl.axes.judging import ModelSource, filled
from rldsl.backends.local.data import Model, warm_problems
from rldsl.backends.local.load import compute_dtype, load_policy
from rldsl.backends.local.training.forward import Critic
from rldsl.backends.local.warm_start import warm_start
from rldsl.compiler.graph import JUDGE_WEIGHTS, REWARD_WEIGHTS
from rldsl.compiler.plan import Plan
from rldsl.compiler.recipe import Recipe, feedback_nodes
from rldsl.runtime.run import Observe

from .hf_classifier import folder_classifier
from .judges import Classifier, train_classifier

OTHERS = 7
"""How far on in the data the wrong answer to a problem is taken from."""


@dataclass(frozen=True)
class Judges:
    """Who scores beside the policy. A judge that is None is the policy itself, or nobody asks one."""

    reward: Classifier | None = None
    judge: Model | None = None


def load_judges(plan: Plan, recipe: Recipe, root: Path, observe: Observe, trained: Path | None = None) -> Judges:
    """The models that some source of the feedback asks. What their training before the run comes to is kept in the
    folder `trained`, or taken from it where it is there."""
    settings, reward, judge = recipe.settings.model, None, None
    if plan.graph.readers(REWARD_WEIGHTS):
        observe("doing", {"node": "load the reward model", "batch": 0})
        reward = _classifier(settings.reward, plan, root)
        if settings.judge_warm_start:
            observe("doing", {"node": "training of the reward model", "batch": 0})
            _once(reward.trunk, trained and trained / "reward.pt", lambda: train_classifier(
                reward, _pairs(recipe, root), settings.judge_warm_start))
        reward.trunk.requires_grad_(False)
    if plan.graph.readers(JUDGE_WEIGHTS) and settings.judge != "policy":
        observe("doing", {"node": "load the judge", "batch": 0})
        judge = Model(*load_policy(settings.judge, plan.resolved["dtype"], plan.seed, root=root))
        if settings.judge_warm_start:
            observe("doing", {"node": "supervised training of the judge", "batch": 0})
            _once(judge.policy, trained and trained / "judge.pt", lambda: warm_start(
                judge.policy, _verdicts(recipe, root, judge), settings.judge_warm_start))
        judge.policy.requires_grad_(False)
    return Judges(reward, judge)


def _once(model: nn.Module, file: Path | None, train: Callable[[], float]) -> None:
    """Trains a model, or reads what that came to where it has been done."""
    if file is not None and file.exists():
        model.load_state_dict(torch.load(file, map_location="cpu", weights_only=True))
        return
    train()
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        half = file.with_suffix(".half")
        torch.save(model.state_dict(), half)
        half.replace(file)


def _classifier(spec: str, plan: Plan, root: Path) -> Classifier:
    if not spec.startswith("toy:"):
        return folder_classifier(root / Path(spec).expanduser(), compute_dtype(plan.resolved["dtype"]))
    policy, tokenizer = load_policy(spec, plan.resolved["dtype"], plan.seed, root=root)
    return Classifier(Critic(policy), Model(policy, tokenizer))


def _pairs(recipe: Recipe, root: Path) -> list[tuple[str, str, str]]:
    """(prompt, right answer, another problem's answer) of the problems set aside for supervised training."""
    found = list(warm_problems(recipe, root))
    others = [found[(i + OTHERS) % len(found)].answer for i in range(len(found))]
    return [(p.prompt, p.answer, other) for p, other in zip(found, others, strict=True) if other != p.answer]


def _verdicts(recipe: Recipe, root: Path, judge: Model) -> Sequence[tuple[tuple[int, ...], tuple[int, ...]]]:
    """(question, reply) for every question that a source asks of the judge, with a right and a wrong response."""
    asked = [n.choice.asked() for n in feedback_nodes(recipe.feedback) if isinstance(n.choice, ModelSource)]
    examples = []
    for prompt, right, wrong in _pairs(recipe, root):
        for each in (a for a in asked if a.role == "judge"):
            for question in each.questions:
                for reply, (one, other) in zip(each.words, ((right, wrong), (wrong, right)), strict=True):
                    text = filled(question, prompt=prompt, response=one, answer=right, other=other)
                    examples.append((judge.encode(text), judge.reply(reply)))
    return examples
