"""Bodies laid over one another: ancestors from the oldest down, then profiles, then `--set`.

Axes are replaced, blocks merge by key, bare entries replace their family, dotted paths change one parameter.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from rldsl.axes.discover import AXES
from rldsl.compiler.settings import bare_field, blocks, from_stage, hints, keys
from rldsl.compiler.show import default_text
from rldsl.compiler.typehints import is_choice, members, options
from rldsl.diagnostics import Span
from rldsl.grammar.tree import Assign, Block, Constant, Entry, Expr, ListExpr, Name, PathPart, Profile

from .fold import Scope, fold
from .override import Look, Override, arguments, leaves, of_axis, of_task
from .refuse import leaf_name
from .report import Report, did_you_mean
from .trail import Trail

BATCH = re.compile(r"batch(_?size)?$")
OTHER_UNITS = ("responses", "tokens", "samples", "sequences")
PIPELINE, ALONG = "pipeline", "along"
"""The layer that says what a stage takes from others, which alone writes settings that are hidden from recipes; and
the one with the settings that are decided by it."""


@dataclass(frozen=True)
class Layer:
    """One body to lay on top. `how` is "recipe", "profile", "along", "pipeline" or "--set"."""

    how: str
    recipe: str
    body: tuple[Assign | Block | Profile, ...]
    scope: Scope


def without_replaced(layer: Layer, later: Sequence[Layer]) -> Layer:
    """The layer without its changes to parameters of axes that a later one replaces."""
    whole = {s.target.parts[0].name for x in later for s in x.body
             if isinstance(s, Assign) and len(s.target.parts) == 1} & set(AXES)
    kept = tuple(s for s in layer.body if not (isinstance(s, Assign) and len(s.target.parts) > 1
                 and s.target.parts[0].name in whole and not _in_block(s.target.parts)))
    return dataclasses.replace(layer, body=kept)


def _in_block(parts: tuple[PathPart, ...]) -> bool:
    """Whether a path leads to a setting: a block may have an axis's name."""
    return parts[0].name in blocks() and parts[1].name in keys(blocks()[parts[0].name])


@dataclass
class Draft:
    """What has been merged so far, still untyped. `broken` holds what has an error that is already reported."""

    trail: Trail
    axes: dict[str, Expr] = field(default_factory=dict)
    settings: dict[str, dict[str, Expr]] = field(default_factory=dict)
    seed: Expr | None = None
    broken: set[str] = field(default_factory=set)


def lay(draft: Draft, layer: Layer, report: Report) -> None:
    """Merges one body into the draft."""
    merge = _Merge(draft, layer, report)
    for statement in layer.body:
        if isinstance(statement, Assign):
            merge.assign(statement)
        elif isinstance(statement, Block):
            merge.block(statement)


@dataclass
class _Merge:
    draft: Draft
    layer: Layer
    report: Report
    seen: dict[tuple[str, ...], Span] = field(default_factory=dict)

    # ── assignments ──────────────────────────────────────────────────────────────────────────────────

    def assign(self, statement: Assign) -> None:
        """`gate = …`, `seed = 1`, or a dotted path."""
        head, *rest = statement.target.parts
        value = fold(statement.value, self.layer.scope)
        if head.index is not None:
            self.not_several(head)
        elif rest:
            self.dotted(statement, value, head, tuple(rest))
        elif head.name in AXES:
            self.axis(head.name, statement, value)
        elif head.name == "seed":
            self.draft.seed = value
            if value is not None:
                self.note(("seed",), value)
        elif head.name in blocks() and self.layer.how == "--set":
            if value is not None:
                self.bare(head.name, Entry(None, value, statement.span))
        elif head.name in blocks():
            self.report.add("RL203", f"`{head.name}` is a block of settings", head.span, "not a value",
                            fix=f"write {head.name} {{ … }}, or {head.name}.KEY = …")
        else:
            self.unknown(head)

    def axis(self, axis: str, statement: Assign, value: Expr | None) -> None:
        """A whole axis is replaced."""
        lost = next((span for path, span in self.seen.items()
                     if path[0] == axis and len(path) > 1 and path[1] not in self.block_keys(axis)), None)
        if lost:
            self.report.add("RL110", f"`{axis}` is set again after one of its parameters", statement.target.span,
                            "replaces all of it", also=((lost, "has no effect"),), fix="keep one of them")
        self.seen[axis,] = statement.span
        self.broken(axis, value is None)
        if value is None:
            return
        self.draft.axes[axis] = value
        self.note((axis,), value)
        self.record(axis, value, of_axis(axis), statement.span)

    def dotted(self, statement: Assign, value: Expr | None, head: PathPart, rest: tuple[PathPart, ...]) -> None:
        """A path into a block, or into an axis."""
        path = statement.target
        if head.name in blocks() and (head.name not in AXES or rest[0].name in self.block_keys(head.name)):
            if value is not None:
                self.block_path(statement, value, head.name, rest)
        elif head.name in AXES:
            self.axis_path(statement, value, head.name, rest)
        elif head.name == "seed":
            self.report.add("RL207", f"the parent has no `{path.text}`", rest[0].span, "not in the parent",
                            fix="write seed = 1")
        else:
            self.unknown(head)

    def axis_path(self, statement: Assign, value: Expr | None, axis: str, rest: tuple[PathPart, ...]) -> None:
        """One parameter of a choice of the axis."""
        if value is None or axis in self.draft.broken:
            return self.broken(axis, True)
        before = self.draft.axes.get(axis)
        if before is None:
            return self.report.add("RL207", f"`{statement.target.text}` changes an axis that is not set", rest[0].span,
                                   "not in the parent", fix=f"set the whole axis first: {axis} = …")
        if self.twice((axis, *(p.name + str(p.index or "") for p in rest)), statement.target.span):
            return None
        override = Override(statement.target.text, value, statement.value.span, self.report)
        reported = len(self.report.found)
        after = override.apply(before, rest, of_axis(axis))
        self.draft.axes[axis] = after
        if after is before:
            return self.broken(axis, len(self.report.found) > reported)
        self.replaced(axis, before, after, statement.value.span)
        return self.record(axis, after, of_axis(axis), statement.span)

    def replaced(self, axis: str, before: Expr, after: Expr, span: Span) -> None:
        """An argument and its override in one body are two definitions."""
        whole = self.seen.get((axis,))
        kept = {id(a) for t in leaves(after) for a in arguments(t, of_axis(axis)).values()}
        for term in leaves(before):
            for name, old in arguments(term, of_axis(axis)).items():
                if whole and id(old) not in kept and _inside(old.span, whole):
                    self.report.add("RL110", f"`{name}` is set twice in one recipe", span, "set again",
                                    also=((old.span, "set here"),), fix="write it once, in the axis itself")

    # ── blocks ───────────────────────────────────────────────────────────────────────────────────────

    def block(self, statement: Block) -> None:
        """`model { … }`: its entries one by one."""
        if statement.name not in blocks():
            self.report.add("RL201", f"there is no block `{statement.name}`", statement.name_span, "unknown block",
                            fix=_axis_hint(statement.name) or did_you_mean(statement.name, blocks()))
            return
        bare = []
        for entry in statement.entries:
            value = fold(entry.value, self.layer.scope)
            if value is None:
                continue
            if entry.key is None:
                bare.append(Entry(None, value, entry.span))
            elif self.known(statement.name, entry.key, entry.key_span or entry.span, "RL201"):
                self.keyed(statement.name, entry.key, value, entry.key_span or entry.span)
        for entry in bare:
            self.bare(statement.name, entry)

    def keyed(self, block: str, key: str, value: Expr, span: Span) -> None:
        """`key: value`; a key of the bare entry's family drops the bare entry."""
        if self.twice((block, key), span):
            return
        self.draft.settings.setdefault(block, {})[key] = value
        self.note((block, key), value)
        bare = bare_field(blocks()[block])
        if bare and key in bare[1].drops:
            if (block, bare[0]) in self.seen:
                self.rivals(block, span, self.seen[block, bare[0]])
            self.drop(block, bare[0], value.span)
            self.draft.settings[block][bare[0]] = Constant(None, value.span)

    def bare(self, block: str, entry: Entry) -> None:
        """`local`, `adamw(lr: 1e-6)`, `gsm8k(samples: 4)`: fills the block's bare field, drops its family."""
        found = bare_field(blocks()[block])
        if found is None:
            self.report.add("RL203", f"the settings of `{block}` are written `key: value`", entry.span, "no key",
                            fix=_key_hint(entry.value, keys(blocks()[block])))
            return
        name, mark = found
        clash = self.clash(block, name, mark.drops)
        if clash:
            self.rivals(block, entry.span, clash)
            return
        values = self.draft.settings.setdefault(block, {})
        value = self.many(block, name, entry) if _is_list(block, name) else entry.value
        values[name] = value
        self.seen[block, name] = entry.value.span
        self.note((block, name), value)
        for key in mark.drops:
            if values.pop(key, None) is not None:
                self.drop(block, key, entry.value.span)
        self.record_bare(block, entry.value.span)

    def clash(self, block: str, name: str, drops: tuple[str, ...]) -> Span | None:
        """What the same body already says about a bare entry's family."""
        rivals = drops if _is_list(block, name) else (name, *drops)
        return next((self.seen[block, k] for k in rivals if (block, k) in self.seen), None)

    def rivals(self, block: str, span: Span, first: Span) -> None:
        """RL210: two entries of one family."""
        self.report.add("RL210", f"two settings of `{block}` state one fact", span, "this one",
                        also=((first, "and this one"),), fix="keep one of them")
        self.broken(f"{block}.{bare_field(blocks()[block])[0]}", True)

    def many(self, block: str, name: str, entry: Entry) -> Expr:
        """A family of several entries: the first of a body replaces the inherited ones, the next are added."""
        if isinstance(entry.value, Constant) and entry.value.value is None:
            return ListExpr((), entry.value.span)
        if (term := leaf_name(entry.value)) is not None:
            self.note((block, term), entry.value)
        first = (block, name) not in self.seen
        before = () if first else self.draft.settings[block][name].items
        return ListExpr((*before, entry.value), entry.value.span)

    def block_path(self, statement: Assign, value: Expr, block: str, rest: tuple[PathPart, ...]) -> None:
        """`data.prompts = 4`, or a path into a bare entry: `optim.lr = 1e-5`, `evaluate.gsm8k.samples = 8`."""
        head = rest[0]
        if head.name in keys(blocks()[block]) and head.index is not None:
            return self.not_several(head)
        if len(rest) == 1 and head.name in keys(blocks()[block]):
            return self.keyed(block, head.name, value, statement.target.span)
        bare = bare_field(blocks()[block])
        written = self.draft.settings.get(block, {}).get(bare[0]) if bare else None
        look = self.look(block)
        if written is None or look is None:
            self.known(block, head.name, head.span, "RL207")
            return None
        if self.twice((block, *(p.name for p in rest)), statement.target.span):
            return None
        if not any(head.name in (look(t).fields if look(t) else ()) or head.name == leaf_name(t)
                   for t in leaves(written)) and not self.known(block, head.name, head.span, "RL207"):
            return None
        override = Override(statement.target.text, value, statement.value.span, self.report)
        self.draft.settings[block][bare[0]] = override.apply(written, rest, look)
        return self.record_bare(block, statement.span)

    def look(self, block: str) -> Look | None:
        """The parameters of a block's bare entries, where these have any."""
        bare = bare_field(blocks()[block])
        if bare is None:
            return None
        hint = hints(blocks()[block])[bare[0]]
        of = members(hint) or hint
        axis = next((base.axis for base, _ in options(of) if is_choice(base)), None)
        return of_axis(axis) if axis else of_task if _is_list(block, bare[0]) else None

    def known(self, block: str, key: str, span: Span, code: str) -> bool:
        """Whether the block has this key; RL201, RL207 or RL211 where it has not."""
        legal = keys(blocks()[block])
        if key in legal or (self.layer.how == PIPELINE and key in from_stage(blocks()[block])):
            return True
        if BATCH.search(key) or (block == "data" and key in OTHER_UNITS):
            self.report.add("RL211", f"`{key}` does not say its unit: prompts, responses and tokens differ", span,
                            "a batch size", why="a batch is data.prompts prompts, each with the sampler's responses",
                            fix="write data { prompts: N }; optim { updates_per_batch: N } cuts it")
            return False
        others = [b for b, cls in blocks().items() if key in keys(cls)]
        where = f"it belongs to {' or '.join(others)}" if others else did_you_mean(key, legal)
        missing = f"the parent has no `{block}.{key}`" if code == "RL207" else f"`{block}` has no setting `{key}`"
        self.report.add(code, missing, span, "unknown setting", fix=where)
        return False

    # ── bookkeeping ──────────────────────────────────────────────────────────────────────────────────

    def twice(self, path: tuple[str, ...], span: Span) -> bool:
        """RL110 where this body has already set the path."""
        first = self.seen.setdefault(path, span)
        if first is not span:
            self.report.add("RL110", f"`{'.'.join(path)}` is set twice", span, "set again",
                            also=((first, "first set here"),), fix="keep one of them")
        return first is not span

    def not_several(self, part: PathPart) -> None:
        """RL207: a number where there is nothing to count."""
        self.report.add("RL207", f"there is only one `{part.name}`", part.span, "counted",
                        fix=f"leave the number out: {part.name}")

    def unknown(self, head: PathPart) -> None:
        every = (*AXES, *(b for b in blocks() if b not in AXES), "seed")
        self.report.add("RL201", f"`{head.name}` is neither an axis nor a setting", head.span, "unknown",
                        fix=did_you_mean(head.name, every))

    def broken(self, path: str, wrong: bool) -> None:
        (self.draft.broken.add if wrong else self.draft.broken.discard)(path)

    def block_keys(self, name: str) -> tuple[str, ...]:
        return keys(blocks()[name]) if name in blocks() else ()

    def note(self, key: tuple, value: Expr) -> None:
        self.draft.trail.note(key, self.layer.how, value, value.span, self.layer.recipe)

    def drop(self, block: str, key: str, span: Span) -> None:
        self.draft.trail.reset((block, key), self.layer.how, default_text(blocks()[block], key), span,
                               self.layer.recipe)

    def record_bare(self, block: str, span: Span) -> None:
        bare, look = bare_field(blocks()[block]), self.look(block)
        if bare and look:
            self.record(block, self.draft.settings[block][bare[0]], look, span)

    def record(self, place: str, value: Expr, look: Look, span: Span) -> None:
        """Notes every argument of the terms, and that those no longer written are back at their defaults."""
        written, count = set(), {}
        for term in leaves(value):
            name = leaf_name(term)
            count[name] = count.get(name, 0) + 1
            for parameter, argument in arguments(term, look).items():
                key = (place, name, count[name], parameter)
                written.add(key)
                self.note(key, argument.value)
        for key in [k for k in self.draft.trail.steps if len(k) == 4 and k[0] == place and k not in written]:
            self.draft.trail.reset(key, self.layer.how, "default", span, self.layer.recipe)


def _inside(inner: Span, outer: Span) -> bool:
    return inner.file == outer.file and (outer.line, outer.column) <= (inner.line, inner.column) \
        and (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)


def _is_list(block: str, name: str) -> bool:
    return members(hints(blocks()[block])[name]) is not None


def _key_hint(e: Expr, legal: tuple[str, ...]) -> str:
    return f"write {e.id}: …" if isinstance(e, Name) and e.id in legal else f"its keys are {', '.join(legal)}"


def _axis_hint(name: str) -> str:
    return f"`{name}` is an axis: write {name} = …" if name in AXES else ""
