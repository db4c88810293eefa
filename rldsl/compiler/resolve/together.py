"""Whether the parameters of one choice fit one another (RL204), and all that were written are read (RL208)."""

from __future__ import annotations

import re
from dataclasses import fields

from rldsl.compiler.recipe import Node

from .report import Report

ONE_OF = re.compile(r"or `(\w+)` must be given, and not both")
"""What a choice says of two parameters of which it takes one."""
LONGEST_LABEL = 60


def hold_together(node: Node, shown: str, report: Report) -> bool:
    """Whether a choice can stand as it is written; what cannot is reported, as parameters of `shown`."""
    broken = {name.removesuffix("_"): text for name, text in node.choice.check().items()}
    for name, text in broken.items():
        _bounded(node, shown, name, text, report)
    unread = {name.removesuffix("_"): text for name, text in node.choice.unread().items()}
    written = unread.keys() & node.spans.keys()
    for name in sorted(written):
        report.add("RL208", f"`{shown}.{name}` has no effect here", node.where(name), "nothing reads it",
                   why="a parameter that does nothing would be believed to do something",
                   fix=f"leave it out; what would read it is {unread[name]}")
    return not broken and not written


def _bounded(node: Node, shown: str, name: str, text: str, report: Report) -> None:
    choice = shown.rpartition(".")[2]
    other = ONE_OF.fullmatch(text)
    if other:
        both = node.spans.keys() >= {name, other[1]}
        label = "both are given" if both else "neither is given"
        report.add("RL204", f"`{shown}.{name}` {text}", node.where(name), label,
                   why="each of them says it in its own way", fix=f"leave one of `{name}` and `{other[1]}` out" if both
                   else f"write {choice}({name}: …) or {choice}({other[1]}: …)")
        return
    asked = text.removeprefix("must ") if text.startswith("must ") else ""
    rest = text.partition(" ")[2]
    beside = [f.name.removesuffix("_") for f in fields(node.choice)]
    named = [f"`{p}`" for p in beside if p != name and re.search(rf"\b{p}\b", re.sub(r"\{\w+\}", "", rest))]
    fix = f"let `{name}` {asked}" if asked else f"write it, or another `{name}`"
    report.add("RL204", f"`{shown}.{name}` {text}", node.where(name),
               text if len(text) <= LONGEST_LABEL else "out of bounds",
               why="the parameters of a choice bound one another" if named else "",
               fix=fix + (f", or change {' or '.join(named)}" if named and asked else ""))
