"""The data of a run as token ids: prompts, stored responses, problems of evaluation, supervised examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rldsl.backends.local.decoder.model import Policy
from rldsl.compiler.recipe import Recipe
from rldsl.environments.tasks import Columns, Task, load_task
from rldsl.environments.tasks.named import Named, named, problems
from rldsl.runtime.prompts import Prompts, prompts, with_stored


class Reader:
    """How a policy's prompts become tokens, at most `context` of them together with the response."""

    tokenizer: Any
    context: int

    def encode(self, text: str) -> tuple[int, ...]:
        """A prompt as the user's turn of a conversation where the model knows conversations, else as plain text."""
        if self.tokenizer.chats:
            return self.tokenizer.chat([{"role": "user", "content": text}])
        return self.tokenizer.encode(text)

    def reply(self, text: str) -> tuple[int, ...]:
        """A response as the policy would have ended it."""
        return self.tokenizer.reply(text)


@dataclass(frozen=True)
class Model(Reader):
    """A loaded policy and its tokenizer."""

    policy: Policy
    tokenizer: Any

    @property
    def context(self) -> int:
        """See Reader."""
        return self.policy.architecture.context


def fitting(recipe: Recipe, place: Named, task: Task, model: Reader) -> Prompts:
    """Those of its problems that fit the model, as tokens, and the responses they hold. RecipeError RL407, RL408."""
    data, sampler = recipe.settings.data, recipe.sampling[0].choice
    found = prompts(task, model.encode, prompt_limit(recipe, model), data.too_long, place.spec, place.most)
    if place.split != "train" or sampler.stored() is None:
        return found
    return with_stored(found, sampler.stored(), model.reply, sampler.max_tokens, data.too_long, place.spec)


def training(recipe: Recipe, root: Path, model: Reader) -> Prompts:
    """What is trained on."""
    place = named(recipe)[0]
    found = fitting(recipe, place, problems(recipe, place, root), model)
    return replace(found, decode=model.tokenizer.decode)


def evaluated(recipe: Recipe, root: Path, model: Reader) -> dict[str, Prompts]:
    """The held-out problems of each task."""
    return {p.spec: fitting(recipe, p, problems(recipe, p, root), model) for p in named(recipe)[1:]}


def examples(recipe: Recipe, root: Path, model: Reader) -> Sequence[tuple[tuple[int, ...], tuple[int, ...]]]:
    """(prompt, answer) of the problems that are set aside for supervised training."""
    return [(model.encode(p.prompt), model.reply(p.answer)) for p in warm_problems(recipe, root)]


def warm_problems(recipe: Recipe, root: Path) -> Task:
    """The problems that are set aside for supervised training."""
    data = recipe.settings.data
    return load_task(data.train, "warm_start", seed=recipe.seed, root=root,
                     columns=Columns(data.prompt, data.answer, data.template))


def pretraining(recipe: Recipe, root: Path, model: Reader) -> list[tuple[int, ...]]:
    """The texts of a second stream of data as token ids, each cut at the model's context; empty where there is none."""
    spec, data = recipe.settings.data.pretrain, recipe.settings.data
    if spec is None:
        return []
    columns = Columns(data.prompt, data.answer, data.template)
    task = load_task(spec, "train", seed=recipe.seed, root=root, columns=columns)
    found = [(model.tokenizer.encode(p.prompt) + model.tokenizer.reply(p.answer))[:model.context] for p in task]
    return [ids for ids in found if len(ids) > 1]


def prompt_limit(recipe: Recipe, model: Reader) -> int:
    """Most tokens of a prompt, so that the longest response still fits."""
    context = min(recipe.settings.model.context or model.context, model.context)
    room = context - recipe.sampling[0].choice.max_tokens
    return min(recipe.settings.model.max_prompt or room, room)
