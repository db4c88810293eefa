"""The data of a run as token ids: prompts, stored responses, problems of evaluation, supervised examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rldsl.axes.base import Source
from rldsl.compiler.recipe import Recipe, feedback_nodes
from rldsl.environments.tasks import Columns, load_task
from rldsl.environments.tasks.problem import Split, Task
from rldsl.runtime.prompts import Prompts, prompts, with_stored

from .model import Policy


@dataclass(frozen=True)
class Model:
    """A loaded policy and how its prompts become tokens."""

    policy: Policy
    tokenizer: Any

    def encode(self, text: str) -> tuple[int, ...]:
        """A prompt as the user's turn of a conversation where the model knows conversations, else as plain text."""
        if self.tokenizer.chats:
            return self.tokenizer.chat([{"role": "user", "content": text}])
        return self.tokenizer.encode(text)

    def reply(self, text: str) -> tuple[int, ...]:
        """A response as the policy would have ended it."""
        return self.tokenizer.reply(text)


def answer_column(recipe: Recipe) -> str | None:
    """The column of the training data's answers; None where the rows hold their responses and nothing is scored."""
    stored = recipe.sampling[0].choice.stored()
    scored = any(isinstance(n.choice, Source) for n in feedback_nodes(recipe.feedback))
    return recipe.settings.data.answer if stored is None or scored or not stored.responses else None


def training(recipe: Recipe, root: Path, model: Model) -> Prompts:
    """What is trained on."""
    data, sampler = recipe.settings.data, recipe.sampling[0].choice
    stored = sampler.stored()
    task = _task(recipe, root, data.train, "train", answer_column(recipe))
    found = prompts(task, model.encode, prompt_limit(recipe, model.policy), data.too_long, data.train)
    if stored is None:
        return found
    return with_stored(found, stored, model.reply, sampler.max_tokens, data.too_long, data.train)


def evaluated(recipe: Recipe, root: Path, model: Model) -> dict[str, Prompts]:
    """The held-out problems of each task."""
    settings, limit = recipe.settings, prompt_limit(recipe, model.policy)
    return {t.name: prompts(_task(recipe, root, t.name, "held_out", settings.data.answer), model.encode, limit,
                            settings.data.too_long, t.name, settings.evaluate.problems)
            for t in settings.evaluate.tasks}


def examples(recipe: Recipe, root: Path, model: Model) -> Sequence[tuple[tuple[int, ...], tuple[int, ...]]]:
    """(prompt, answer) of the problems that are set aside for supervised training."""
    return [(model.encode(p.prompt), model.reply(p.answer)) for p in problems(recipe, root)]


def pretraining(recipe: Recipe, root: Path, model: Model) -> list[tuple[int, ...]]:
    """The texts of a second stream of data as token ids, each cut at the model's context; empty where there is none."""
    spec, data = recipe.settings.data.pretrain, recipe.settings.data
    if spec is None:
        return []
    context = model.policy.architecture.context
    found = [(model.tokenizer.encode(p.prompt) + model.tokenizer.reply(p.answer))[:context]
             for p in _task(recipe, root, spec, "train", data.answer)]
    return [ids for ids in found if len(ids) > 1]


def problems(recipe: Recipe, root: Path) -> Task:
    """The problems that are set aside for supervised training."""
    return _task(recipe, root, recipe.settings.data.train, "warm_start", recipe.settings.data.answer)


def _task(recipe: Recipe, root: Path, spec: str, split: Split, answer: str | None) -> Task:
    data = recipe.settings.data
    return load_task(spec, split, seed=recipe.seed, columns=Columns(data.prompt, answer, data.template), root=root)


def prompt_limit(recipe: Recipe, policy: Policy) -> int:
    """Most tokens of a prompt, so that the longest response still fits."""
    context = min(recipe.settings.model.context or policy.architecture.context, policy.architecture.context)
    room = context - recipe.sampling[0].choice.max_tokens
    return min(recipe.settings.model.max_prompt or room, room)
