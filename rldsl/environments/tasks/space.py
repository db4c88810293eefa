"""Toy problems: a numbered space of them, cut into splits that cannot overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .permutation import permute
from .problem import Split

CLASSES: dict[str, tuple[int, ...]] = {"held_out": (0,), "warm_start": (1,), "train": (2, 3, 4)}
SHARES = 5
LARGEST_SPLIT = 20_000


class Space:
    """A toy task: `count()` different problems, numbered from 0. Subclasses become frozen dataclasses.

    The file's name is the task's name after `toy:`; fields are its parameters, typed as a choice's are
    (`rldsl/axes/types.py`), written `toy:addition?digits=2`.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclass(frozen=True)(cls)

    def count(self) -> int:
        """How many different problems there are."""
        raise TypeError(f"{type(self).__name__} does not say how many problems it has")

    def problem(self, number: int) -> tuple[str, str]:
        """Prompt and answer of problem `number`; different numbers give different prompts."""
        raise TypeError(f"{type(self).__name__} states no problems")


def word(number: int, length: int, letters: int) -> str:
    """The word of `length` letters, out of the first `letters` of the alphabet, that `number` spells in base
    `letters`; 0 is `aaa…`."""
    spelled = []
    for _ in range(length):
        number, letter = divmod(number, letters)
        spelled.append(chr(ord("a") + letter))
    return "".join(reversed(spelled))


@dataclass(frozen=True)
class SplitSpace:
    """One split of a space. Which problems it holds depends on the space alone; only the order of `train`
    depends on the seed, so that runs with different seeds are evaluated on the same problems in the same
    order.
    """

    space: Space
    split: Split
    seed: int

    def size(self) -> int:
        """Number of problems in the split, at most 20,000."""
        count, classes = self.space.count(), CLASSES[self.split]
        whole, rest = divmod(count, SHARES)
        return min(LARGEST_SPLIT, whole * len(classes) + sum(c < rest for c in classes))

    def number(self, index: int) -> int:
        """The number, in the space, of the split's problem at `index`."""
        if self.split == "train":
            index = permute(index, self.size(), f"order/{self.space}/{self.seed}")
        classes = CLASSES[self.split]
        block, offset = divmod(index, len(classes))
        return permute(block * SHARES + classes[offset], self.space.count(), f"split/{self.space}")
