"""The syntax tree: what was written, with the span of every part. No meaning is attached here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from rldsl.diagnostics import Span

# ── expressions ──────────────────────────────────────────────────────────────────────────────────────

@dataclass(frozen=True)
class Number:
    """`20k` → value 20000. `kind` says which unit family was written: bytes are bytes, times are seconds."""

    value: int | float
    span: Span
    kind: Literal["plain", "bytes", "time", "percent"] = "plain"
    text: str = ""


@dataclass(frozen=True)
class String:
    value: str
    span: Span


@dataclass(frozen=True)
class Constant:
    """`true`, `false` or `none`."""

    value: bool | None
    span: Span


@dataclass(frozen=True)
class Name:
    """A bare identifier: a `let`, a choice without arguments, or one of a parameter's words."""

    id: str
    span: Span


@dataclass(frozen=True)
class Argument:
    """`name: value`, or a positional value when `name` is None."""

    name: str | None
    value: Expr
    span: Span
    name_span: Span | None = None


@dataclass(frozen=True)
class Call:
    name: str
    args: tuple[Argument, ...]
    span: Span
    name_span: Span


@dataclass(frozen=True)
class ListExpr:
    items: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True)
class Range:
    """`low..high`; `scale` is set only by the sweep forms (`a..b log n`, `a..b linear n`, `pow2 a..b`)."""

    low: Expr
    high: Expr
    span: Span
    scale: Literal["none", "linear", "log", "pow2"] = "none"
    count: Expr | None = None


@dataclass(frozen=True)
class Unary:
    op: Literal["-", "not"]
    operand: Expr
    span: Span


@dataclass(frozen=True)
class Binary:
    """`op` is one of + - * / | on == != < <= > >= and or."""

    op: str
    left: Expr
    right: Expr
    span: Span


@dataclass(frozen=True)
class PathPart:
    name: str
    index: int | None
    span: Span


@dataclass(frozen=True)
class Path:
    """`gate.high`, `feedback.format[2].reward`. A path of one part without index is parsed as a Name."""

    parts: tuple[PathPart, ...]
    span: Span

    @property
    def text(self) -> str:
        return ".".join(p.name + (f"[{p.index}]" if p.index is not None else "") for p in self.parts)


Expr = Number | String | Constant | Name | Call | ListExpr | Range | Unary | Binary | Path


# ── statements ───────────────────────────────────────────────────────────────────────────────────────

@dataclass(frozen=True)
class Import:
    """`import std.grpo` → target "std.grpo"; `import "../base.rl"` → target "../base.rl", quoted True."""

    target: str
    quoted: bool
    span: Span


@dataclass(frozen=True)
class Let:
    name: str
    value: Expr
    span: Span
    name_span: Span


@dataclass(frozen=True)
class Assign:
    """`gate = clip(0.2)`, `seed = 1` (one part) or an override `gate.high = 0.3` (several)."""

    target: Path
    value: Expr
    span: Span


@dataclass(frozen=True)
class Entry:
    """Inside a block: `key: value`, or a bare entry (`adamw(lr: 1e-6)`, `local`) when `key` is None."""

    key: str | None
    value: Expr
    span: Span
    key_span: Span | None = None


@dataclass(frozen=True)
class Block:
    name: str
    entries: tuple[Entry, ...]
    span: Span
    name_span: Span


@dataclass(frozen=True)
class Profile:
    name: str
    body: tuple[Assign | Block, ...]
    span: Span
    name_span: Span


@dataclass(frozen=True)
class Recipe:
    """`recipe name extends parent { "doc" … }`; the body keeps the written order."""

    name: str
    parent: Name | None
    doc: str
    body: tuple[Assign | Block | Profile, ...]
    span: Span
    name_span: Span


@dataclass(frozen=True)
class Dimension:
    """`gate.high in [0.2, 0.3]` (one path) or `zip { a in […] b in […] }` (several that move together)."""

    paths: tuple[Path, ...]
    values: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True)
class Exclude:
    condition: Expr
    span: Span


@dataclass(frozen=True)
class Sweep:
    """`options` are its `key: value` entries."""

    name: str
    of: Name
    dimensions: tuple[Dimension, ...]
    excludes: tuple[Exclude, ...]
    span: Span
    name_span: Span
    options: tuple[Entry, ...] = ()


@dataclass(frozen=True)
class Ablate:
    name: str
    start: Name
    goal: Name
    options: tuple[Entry, ...]
    span: Span
    name_span: Span


@dataclass(frozen=True)
class Stage:
    """`stage x = recipe_name(args) { overrides } from y`; `recipe` is a Name or a Call."""

    name: str
    recipe: Expr
    body: tuple[Assign | Block, ...]
    source: Name | None
    span: Span
    name_span: Span


@dataclass(frozen=True)
class Pipeline:
    name: str
    stages: tuple[Stage, ...]
    span: Span
    name_span: Span


Statement = Import | Let | Recipe | Sweep | Ablate | Pipeline


@dataclass(frozen=True)
class File:
    """One parsed file. `text` is the whole source: diagnostics and the formatter need it. Where it is not `whole`,
    some bracket has no partner, and nobody knows what stands inside what."""

    path: str
    text: str
    statements: tuple[Statement, ...]
    span: Span
    comments: tuple[tuple[Span, str], ...] = field(default=())
    whole: bool = True
