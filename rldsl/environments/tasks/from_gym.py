"""reasoning-gym tasks, `gym:chain_sum?min_terms=2`: generated, with the task's own scorer."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable
from typing import Any

from .problem import Problem, Split, Task
from .rows import Reader, RowError
from .spec import TaskSpec, literal, unreadable

SIZES: dict[str, int] = {"train": 10_000, "warm_start": 1_000, "held_out": 500}
CANDIDATES = 20_000
SHARES = 5
CLASSES: dict[str, tuple[int, ...]] = {"held_out": (0,), "warm_start": (1,), "train": (2, 3, 4)}

Entry = dict[str, Any]


class _Stream:
    """The entries of one split, generated in order and kept.

    A question belongs to the split that its own hash names, so that no question is in two splits, whatever
    the seeds. When the generator runs out of new candidates the entries found so far come round again.
    """

    def __init__(self, generate: Callable[[int], Entry], split: Split):
        self.generate, self.split = generate, split
        self.found: list[Entry] = []
        self.next = 0

    def entry(self, index: int) -> Entry:
        while len(self.found) <= index and self.next < CANDIDATES:
            entry = self.generate(self.next)
            self.next += 1
            if _digest(entry["question"]) % SHARES in CLASSES[self.split]:
                self.found.append(entry)
        if not self.found:
            raise LookupError(f"none of {CANDIDATES} generated questions falls into the split '{self.split}'")
        return self.found[index % len(self.found)]


def load_gym(spec: TaskSpec, split: Split, read: Reader, seed: int) -> Task:
    """One split of a reasoning-gym task. `train` depends on the seed, the other two never do.

    Raises RecipeError RL407 where the package is missing, the name unknown or a parameter refused.
    """
    stream = _Stream(_dataset(spec, f"{split}/{seed if split == 'train' else 0}").__getitem__, split)

    def build(index: int) -> Problem:
        entry = stream.entry(index)
        row = {"prompt": entry["question"], "answer": entry["answer"], "gym": spec.name, "entry": entry}
        return Problem(f"gym:{spec.name}#{_digest(entry['question']):016x}", *read(row), row)

    try:
        build(0)
    except (RowError, LookupError) as error:
        raise unreadable(spec, f"'{spec.text}': {error}", "its columns are prompt and answer") from None
    return Task(spec.text, split, SIZES[split], True, build)


def _dataset(spec: TaskSpec, stream: str) -> Any:
    try:
        from reasoning_gym.factory import DATASETS, create_dataset
    except ImportError:
        raise unreadable(spec, f"'{spec.text}' needs the package reasoning-gym, which is missing",
                         "pip install 'rldsl[gym]'") from None
    if spec.name not in DATASETS:
        near = difflib.get_close_matches(spec.name, DATASETS, 1)
        raise unreadable(spec, f"reasoning-gym has no task '{spec.name}'",
                         f"write gym:{near[0]}" if near else "see the tasks that reasoning-gym lists")
    config = {name: literal(text) for name, text in spec.parameters}
    try:
        return create_dataset(spec.name, **config, seed=_digest(stream) % 2**31, size=CANDIDATES)
    except (AssertionError, TypeError, ValueError) as error:
        raise unreadable(spec, f"reasoning-gym refuses '{spec.text}': {error}", "correct it") from None


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
