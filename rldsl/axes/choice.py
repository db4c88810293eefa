"""The base of every choice, and the worked examples that each choice file carries."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .traits import Trait
from .types import SameAs


class Choice:
    """One idea on one axis. Subclasses become frozen dataclasses of their typed parameters.

    The file's name is the choice's name in the language; the class in it is found by its base. `positional`
    says how many leading fields may be given without a name. `version` rises when a shipped meaning changes.
    """

    axis: ClassVar[str] = ""
    positional: ClassVar[int] = 0
    version: ClassVar[int] = 1
    needs: ClassVar[frozenset[Trait]] = frozenset()
    gives: ClassVar[frozenset[Trait]] = frozenset()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.needs, cls.gives = frozenset(cls.needs), frozenset(cls.gives)
        dataclass(frozen=True)(cls)

    def __post_init__(self) -> None:
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if isinstance(value, SameAs):
                object.__setattr__(self, f.name, getattr(self, value.field))

    def check(self) -> dict[str, str]:
        """Bounds between this choice's own parameters: {parameter: what must hold}. Reported as RL204."""
        return {}

    @property
    def name(self) -> str:
        """The name in the language: the file's name."""
        return type(self).__module__.rpartition(".")[2].removesuffix("_")


@dataclass(frozen=True)
class Example:
    """A worked number: the choice with `params`, on a tiny batch, must give `expect`.

    `batch` holds what `probe` takes per response, `expect` maps an output of probe (advantage, ratio, weight,
    correction, gradient, objective, reward, kept) to its value; see tests/conformance.
    """

    says: str
    params: dict[str, Any] = field(default_factory=dict)
    batch: list[dict[str, Any]] = field(default_factory=list)
    expect: dict[str, Any] = field(default_factory=dict)
    beside: dict[str, str] = field(default_factory=dict)
    """Other axes where the example needs something other than the plain ones, as recipe text."""
    tolerance: float = 1e-6
