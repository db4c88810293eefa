"""What a task hands out: problems, by index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Split = Literal["train", "warm_start", "held_out"]


@dataclass(frozen=True)
class Problem:
    """One prompt and its reference answer.

    `id` is the same for the same problem in every run, whatever the seed. `metadata` holds everything else
    the source knows about the problem; scorers get it.
    """

    id: str
    prompt: str
    answer: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """An indexable source of problems, each a pure function of the task's name, split, seed and index.

    `own_scorer` says whether the task brings a scorer of its own, for sources that ask for that one.
    """

    name: str
    split: Split
    size: int
    own_scorer: bool
    build: Callable[[int], Problem] = field(repr=False)

    def __len__(self) -> int:
        """How many problems there are."""
        return self.size

    def __getitem__(self, index: int) -> Problem:
        """The problem at `index`, counted from 0; raises IndexError outside `0 <= index < len(self)`."""
        if not 0 <= index < self.size:
            raise IndexError(f"no problem {index} in the {self.size} of '{self.split}' of {self.name}")
        return self.build(index)

    def __iter__(self) -> Iterator[Problem]:
        """All problems in order."""
        return (self.build(index) for index in range(self.size))
