"""Choices that make the engines compute alike, instead of correcting for what sets them apart."""

from __future__ import annotations

from typing import Any

from .base import Distribution


class Alignment(Distribution):
    """No factor on any token: work for the engines, so that κ is nearer to 1."""

    def engines(self) -> dict[str, Any]:
        """What the engines must do, as options of every node that computes the policy: {option: JSON value}."""
        raise TypeError(f"{self.name} asks nothing of the engines")
