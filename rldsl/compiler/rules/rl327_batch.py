"""RL327: a batch that cannot be cut into its updates by whole prompts.

A batch is `data.prompts` prompts, cut by whole prompts into `updates_per_batch` updates; uneven updates would weigh
some prompts more than others. Where sampling stages refill or shorten the batch, or the schedule takes what is
complete, its size is not known here.
Source: the statistics of a group must stay in one update: DeepSeekMath (arXiv:2402.03300), algorithm 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import plural, sampler
from ..recipe import Recipe

CODE = "RL327"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding."""
    prompts, cuts = recipe.settings.data.prompts, recipe.settings.optim.updates_per_batch
    varies = not recipe.schedule.choice.whole() or any(n.choice.keeps() is not None for n in recipe.sampling[1:])
    if prompts is None or prompts % cuts == 0 or varies:
        return
    n = sampler(recipe).siblings()
    yield clash(
        CODE, recipe, f"A batch of {plural(prompts, 'prompt')} ({plural(prompts * n, 'response')}) cannot be "
        f"cut into {cuts} updates of whole prompts.",
        (recipe.where("optim.updates_per_batch"), f"{cuts} updates a batch"),
        (recipe.where("data.prompts"), f"{plural(prompts, 'prompt')} of {plural(n, 'response')}"),
        why="A group stays in one update, and unequal updates would give some prompts more say than others.",
        fix=f"Write updates_per_batch: {_either(divisors(prompts, cuts))}, or prompts: "
            f"{_either(multiples(prompts, cuts))}.")


def divisors(prompts: int, cuts: int) -> list[int]:
    """The numbers of updates next to `cuts` that divide the prompts: below and above, or the two largest."""
    legal = [d for d in range(1, prompts + 1) if prompts % d == 0]
    above = [d for d in legal if d > cuts]
    below = [d for d in legal if d < cuts]
    return [below[-1], above[0]] if above else below[-2:]


def multiples(prompts: int, cuts: int) -> list[int]:
    """The numbers of prompts next to `prompts` that can be cut: below and above, or the two smallest."""
    below = prompts // cuts * cuts
    return [below, below + cuts] if below else [cuts, 2 * cuts]


def _either(values: list[int]) -> str:
    return " or ".join(map(str, values))
