"""RL321: a formula reads a teacher's log-probs, and the recipe names no teacher.

Whether the teacher has the policy's tokenizer is seen when both are loaded.
Source: on-policy distillation scores the student's own tokens, so both must know the same tokens.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.variables import LOGP_TEACHER
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import reading, said
from ..recipe import Recipe

CODE = "RL321"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each reader; a recipe without a model, as for `probe`, names no roles yet."""
    model = recipe.settings.model
    for node in () if model.teachers or model.policy is None else reading(recipe, LOGP_TEACHER.name):
        yield clash(
            CODE, recipe, f"{said(node)} reads a teacher's log-probs, and the recipe names no teacher.",
            (node.span, "reads the teacher"), (recipe.where("model.policy"), "the policy, without a teacher"),
            why="Nobody would compute the log-probs that are to be learned from.",
            fix='Write model { teachers: ["…"] } with a model that has the policy\'s tokenizer.')
