"""RL320: a term about the response's length without a known limit, or about a length that sampling never reaches; a
beginning that leaves nothing to write.

Source: DAPO (arXiv:2503.14476), equation 13, with L_max the sampler's own limit; Dr. GRPO (arXiv:2503.20783),
listing 1, which divides by the sampler's limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.base import Shaping
from rldsl.axes.structure import Beginning
from rldsl.axes.traits import LENGTH_LIMIT
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, needing, place, said, sampler
from ..recipe import Node, Recipe

CODE = "RL320"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each such term."""
    known = giving(recipe, LENGTH_LIMIT)
    for node in needing(recipe, LENGTH_LIMIT):
        if not known:
            yield _unknown(recipe, node)
        elif isinstance(node.choice, Shaping):
            yield from _unreached(recipe, node)
    for node in recipe.sampling[1:]:
        if isinstance(node.choice, Beginning) and node.choice.begin().tokens >= sampler(recipe).max_tokens:
            yield _nothing_left(recipe, node)


def _nothing_left(recipe: Recipe, node: Node) -> Diagnostic:
    given, longest, source = node.choice.begin().tokens, sampler(recipe).max_tokens, recipe.sampling[0]
    return clash(
        CODE, recipe, f"{said(node)} gives {given} tokens of a response, and {said(source)} stops at max_tokens "
        f"{longest}.",
        (node.span, f"{given} tokens are given"), (place(source, LENGTH_LIMIT), f"{longest} tokens in all"),
        why="Nothing would be left for the policy to write, and so nothing to train.",
        fix=f"Give fewer tokens than max_tokens, {longest}.")


def _unknown(recipe: Recipe, node: Node) -> Diagnostic:
    source = recipe.sampling[0]
    return clash(
        CODE, recipe, f"{said(node)} needs a limit on the response's length, and {said(source)} has none.",
        (place(node, LENGTH_LIMIT), "measured against the limit"), (source.span, "no limit"),
        why="Without a limit there is no length to compare with.",
        fix=f"Give the length in {said(node)}, or sample with max_tokens.")


def _unreached(recipe: Recipe, node: Node) -> Iterator[Diagnostic]:
    limit, longest = node.choice.limit(), sampler(recipe).max_tokens
    if limit is not None and limit > longest:
        source = recipe.sampling[0]
        yield clash(
            CODE, recipe, f"{said(node)} acts in full at {limit} tokens, and {said(source)} stops at "
            f"max_tokens {longest}.",
            (place(node, LENGTH_LIMIT), f"{limit} tokens"), (place(source, LENGTH_LIMIT), f"{longest} tokens"),
            why="No response gets that long, so the punishment of a cut response is never reached.",
            fix=f"Write {node.choice.decided_by[LENGTH_LIMIT]}: {longest} in {said(node)}, or max_tokens: "
                f"{limit} in {said(source)}.")
