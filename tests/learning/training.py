"""Short runs of the local backend from a recipe's text, and what is left of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from rldsl.backends.local.launch import open_run
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.resolve import resolve
from rldsl.runtime.executor import execute
from rldsl.runtime.journal import read_journal
from rldsl.runtime.run import Run


@dataclass(frozen=True)
class Trained:
    """A finished run: flat weights, the held-out scores from the first to the last, every step's metrics."""

    policy: torch.Tensor
    critic: torch.Tensor | None
    held_out: list[float]
    steps: list[dict[str, float]]


@contextmanager
def opened(folder: Path, text: str, *sets: str) -> Iterator[Run]:
    """A run of the recipe, ready to be executed in `folder`, on one thread."""
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "r.rl").write_text(text)
    plan, _ = compile_recipe(resolve(str(folder / "r.rl"), sets=sets))
    with open_run(plan, folder, folder, lambda kind, data: None, resume=False) as run:
        yield run


def train(folder: Path, text: str, *sets: str) -> Trained:
    """Trains the recipe from beginning to end."""
    with opened(folder, text, *sets) as run:
        execute(run)
        critic = run.trainer._critic
        policy, values = flat(run.trainer.policy), flat(critic.critic) if critic is not None else None
    events = list(read_journal(folder))
    scores = [e.data["metrics"].get("held_out/score") for e in events if e.kind == "evaluate"]
    return Trained(policy, values, [s for s in scores if s is not None],
                   [e.data["metrics"] for e in events if e.kind == "step"])


def flat(model: torch.nn.Module) -> torch.Tensor:
    """All parameters as one vector of its own."""
    return torch.cat([p.detach().flatten().clone() for p in model.parameters()])
