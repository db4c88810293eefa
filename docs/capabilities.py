"""Prints capabilities.md from the choices themselves: `python docs/capabilities.py > docs/capabilities.md`."""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes import discover
from rldsl.backends.local.capability import Capability, capability

HEAD = """# Capabilities

What `rldsl run` can train, choice by choice. Every choice can be compiled, explained, compared and evaluated on given
numbers (`rldsl probe`); a run also needs something that fills in what a formula reads. **yes**: with all parameters.
**some**: not with all of them. **no**: a run is refused (RL406) before it starts. *beside* names the sampling that
gives what the choice reads.

This page is printed by `docs/capabilities.py` from what the choices read and need; `rldsl axes --format json` has the
same for the vocabulary as it is installed. How often each answer occurs:
"""
ANSWERS = ("yes", "some", "no")


def row(axis: str, name: str) -> str:
    """The line of one choice."""
    found = capability(axis, name)
    return f"| `{name}` | {found.runs} | {'; '.join(found.beside)} | {'; '.join(found.lacks)} |"


def _tables(found: dict[tuple[str, str], Capability]) -> Iterator[str]:
    for axis in discover.FAMILIES:
        yield from (f"## {axis}", "", "| choice | `local` | beside | what is missing |", "| --- | --- | --- | --- |")
        yield from (row(axis, name) for a, name in found if a == axis)
        yield ""


def page() -> str:
    """The whole page."""
    found = {(axis, name): capability(axis, name) for axis in discover.FAMILIES for name in discover.names(axis)}
    runs = [c.runs for c in found.values()]
    counts = ", ".join(f"{runs.count(answer)} {answer}" for answer in ANSWERS)
    return "\n".join([HEAD + counts + ".", "", *_tables(found)]).rstrip() + "\n"


if __name__ == "__main__":
    print(page(), end="")
