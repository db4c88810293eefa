"""RL330: prompt and response together are longer than the model's context.

Positions beyond the context were never trained; engines fail in the middle of a run or cut the prompt silently.
Source: the length limits of the model's own configuration (`max_position_embeddings`).
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.traits import LENGTH_LIMIT
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, model_facts, place, sampler
from ..recipe import Recipe
from ..shapes import context_of

CODE = "RL330"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """A context that the model does not have, or lengths beyond it; a context that is not known refuses nothing."""
    wide = list(_beyond_the_model(recipe))
    yield from wide or _too_long(recipe)


def _beyond_the_model(recipe: Recipe) -> Iterator[Diagnostic]:
    written, known = recipe.settings.model.context, model_facts(recipe, context_of)
    if written is not None and known is not None and written > known[0]:
        yield clash(
            CODE, recipe, f"model.context {written} > {known[0]}, the context of {known[1]}.",
            (recipe.where("model.context"), f"{written} tokens"),
            (recipe.where("model.policy"), f"a context of {known[0]} tokens"),
            why="Positions beyond a model's own context were never trained.",
            fix=f"Write context: {known[0]} or less, or choose a model with a longer context.")


def _too_long(recipe: Recipe) -> Iterator[Diagnostic]:
    model, source, known = recipe.settings.model, recipe.sampling[0], _context(recipe)
    if known is None or not giving(recipe, LENGTH_LIMIT):
        return
    (context, origin, setting), response = known, sampler(recipe).max_tokens
    prompt = 1 if model.max_prompt is None else model.max_prompt
    if prompt + response <= context:
        return
    said = "A prompt of 1 token" if model.max_prompt is None else f"max_prompt {prompt}"
    written = [] if model.max_prompt is None else [(recipe.where("model.max_prompt"), f"{prompt} tokens")]
    yield clash(
        CODE, recipe, f"{said} + max_tokens {response} = {prompt + response} > {context}, the context of "
        f"{origin}.",
        (place(source, LENGTH_LIMIT), f"{response} tokens"), *written,
        (recipe.where(setting), f"a context of {context} tokens"),
        why="Positions beyond the context were never trained, and a silently cut prompt is another prompt.",
        fix=_fix(context, response, model.max_prompt))


def _context(recipe: Recipe) -> tuple[int, str, str] | None:
    """The context, whose it is, and the setting that says so."""
    model = recipe.settings.model
    if model.context is not None:
        return model.context, "this recipe (model.context)", "model.context"
    found = model_facts(recipe, context_of)
    return (*found, "model.policy") if found else None


def _fix(context: int, response: int, prompt: int | None) -> str:
    shorter = context - (prompt or 0)
    if prompt is None:
        options = [f"max_tokens below {context}"]
    else:
        options = [f"max_tokens: {shorter} or less"] if shorter > 0 else []
        options += [f"max_prompt: {context - response} or less"] if context > response else []
    return f"Write {', or '.join(options)}, or choose a model with a longer context." if options else \
        "Lower both limits, or choose a model with a longer context."
