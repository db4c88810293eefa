"""From the syntax tree to the typed recipe: files, inheritance, merging, typing, provenance."""

from .load import sources
from .steps import profiles, resolve, resolve_all, resolve_file, resolve_runnable

__all__ = ["profiles", "resolve", "resolve_all", "resolve_file", "resolve_runnable", "sources"]
