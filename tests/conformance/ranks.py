"""One of several data-parallel ranks: a process of its own that trains its share of every choice's update."""

from __future__ import annotations

import torch
from torch import distributed

from .harness import OBJECTIVE_CHOICES, objective_of, over_pairs
from .training import Update, on_ranks, update_of

SPLITS = {"halves": lambda n: (range(n // 2), range(n // 2, n)),
          "in turn": lambda n: (range(0, n, 2), range(1, n, 2)),
          "one rank without rows": lambda n: (range(n), range(0))}
"""How many rows, or pairs, are spread over two ranks."""


def spread(made: Update, split: str) -> list[list[int]]:
    """The positions of each rank's rows; the two responses of a pair stay together."""
    size = 2 if over_pairs(made.objective) else 1
    units = len(made.rows) // size
    return [[u * size + k for u in rank for k in range(size)] for rank in SPLITS[split](units)]


def train(rank: int, world: int, meeting: str, out: str) -> None:
    """Meets the other ranks at a file, and saves the summed gradients of {(axis, name, split): gradient}."""
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=world)
    found = {}
    for axis, name in OBJECTIVE_CHOICES:
        made = update_of(objective_of(axis, name))
        for split in SPLITS:
            part = on_ranks(made, spread(made, split), rank)
            distributed.all_reduce(part)
            found[axis, name, split] = part
    if rank == 0:
        torch.save(found, out)
    distributed.destroy_process_group()

