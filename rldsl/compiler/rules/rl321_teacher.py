"""RL321: a choice needs a teacher, a reward model or a judge that the recipe does not name, or one of several teachers.

Whether a teacher has the policy's tokenizer is seen when both are loaded.
Source: on-policy distillation scores the student's own tokens, so both must know the same tokens.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.judging import ModelSource
from rldsl.axes.structure import Beginning
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import said, taught
from ..recipe import Node, Recipe

CODE = "RL321"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each reader; a recipe without a model, as for `probe`, names no roles yet."""
    model = recipe.settings.model
    if model.policy is None:
        return
    yield from _unnamed(recipe)
    if len(model.teachers) == 1:
        return
    for node in taught(recipe):
        if not model.teachers:
            yield _nobody(recipe, node)
        elif isinstance(node.choice, Beginning):
            yield _which(recipe, node, len(model.teachers))
        elif model.teaching is None:
            yield _unsaid(recipe, node, len(model.teachers))


def _unnamed(recipe: Recipe) -> Iterator[Diagnostic]:
    """Sources that ask a reward model or a judge which the recipe does not name."""
    for node in recipe.nodes():
        role = node.choice.asked().role if isinstance(node.choice, ModelSource) else ""
        if role in ("reward", "judge") and getattr(recipe.settings.model, role) is None:
            what = {"reward": "reward model", "judge": "judge"}[role]
            yield clash(
                CODE, recipe, f"{said(node)} asks a {what}, and the recipe names none.",
                (node.span, f"asks the {what}"), (recipe.where("model.policy"), f"the policy, without a {what}"),
                why="Nobody would give the score.", fix=f'Write model {{ {role}: "…" }}.')


def _does(node: Node) -> str:
    return "begins responses with a teacher's" if isinstance(node.choice, Beginning) else "reads a teacher"


def _nobody(recipe: Recipe, node: Node) -> Diagnostic:
    return clash(
        CODE, recipe, f"{said(node)} {_does(node)}, and the recipe names none.",
        (node.span, "needs the teacher"), (recipe.where("model.policy"), "the policy, without a teacher"),
        why="Nobody would compute, or write, what is to be learned from.",
        fix='Write model { teachers: ["…"] } with a model that has the policy\'s tokenizer.')


def _which(recipe: Recipe, node: Node, number: int) -> Diagnostic:
    return clash(
        CODE, recipe, f"{said(node)} {_does(node)}, and the recipe names {number} of them.",
        (node.span, "needs one teacher"), (recipe.where("model.teachers"), f"{number} teachers"),
        why="A text is written by one model; a mean of several writes none.",
        fix="Name one teacher, or let the responses begin with the prompt.")


def _unsaid(recipe: Recipe, node: Node, number: int) -> Diagnostic:
    return clash(
        CODE, recipe, f"{said(node)} reads a teacher, and the recipe names {number} without saying which of them "
        "scores a response.", (node.span, "reads the teacher"), (recipe.where("model.teachers"), f"{number} teachers"),
        why="Their mean and one of them for each prompt are different losses.",
        fix='Write model { teaching: mean }, or the column of the data that names each row\'s teacher: '
            '{ teaching: "domain" }.')
