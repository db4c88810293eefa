"""What one batch does, step by step: the graph that an executor walks, in the order it is written.

A node reads and writes named fields. The fields in `INPUTS` are carried from batch to batch (weights, prompts);
every other one must be written before it is read. `lower` builds the graph of a recipe.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rldsl.algebra import variables
from rldsl.algebra.divergence import PREFIX, is_divergence
from rldsl.algebra.expr import GROUP, RESPONSE, TOKEN, UPDATE, Var

KINDS = ("sample", "judge", "score", "filter", "collect", "logprob", "value", "advantage", "update", "carry", "publish",
         "evaluate", "checkpoint")
ENGINES = ("rollout", "train", "control")
TRAJECTORIES, PROMPTS, VALUE_TARGET, CORRECTION = "trajectories", "prompts", "value_target", "correction"
WEIGHTS, ROLLOUT_WEIGHTS = "weights", "rollout_weights"
REFERENCE_WEIGHTS, CRITIC_WEIGHTS, TEACHER_WEIGHTS = "reference_weights", "critic_weights", "teacher_weights"
REWARD_WEIGHTS, JUDGE_WEIGHTS = "reward_weights", "judge_weights"
PRETRAIN_TEXTS = "pretrain_texts"
MODEL = "model"
"""The grain of a set of weights: one per run."""

INPUTS = (PROMPTS, WEIGHTS, ROLLOUT_WEIGHTS, REFERENCE_WEIGHTS, CRITIC_WEIGHTS, TEACHER_WEIGHTS,
          REWARD_WEIGHTS, JUDGE_WEIGHTS, PRETRAIN_TEXTS, variables.TRAINER_VERSION.name)
"""What exists before a batch begins; so does what choices carry from batch to batch, under names in `CARRIED`."""
CARRIED = "state."

GRAINS: Mapping[str, str] = {
    TRAJECTORIES: RESPONSE, PROMPTS: GROUP, VALUE_TARGET: TOKEN, CORRECTION: TOKEN,
    WEIGHTS: MODEL, ROLLOUT_WEIGHTS: MODEL, REFERENCE_WEIGHTS: MODEL, CRITIC_WEIGHTS: MODEL, TEACHER_WEIGHTS: MODEL,
    REWARD_WEIGHTS: MODEL, JUDGE_WEIGHTS: MODEL,
    PRETRAIN_TEXTS: RESPONSE, "evaluation": UPDATE,
    **{v.name: v.grain for v in vars(variables).values() if isinstance(v, Var)},
}


@dataclass(frozen=True)
class Field:
    """A named column (or set of weights) and the grain it lives at."""

    name: str
    grain: str


@dataclass(frozen=True)
class Node:
    """One step. `options` holds JSON values only; what each kind takes is in `lower`."""

    id: str
    kind: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    engine: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Graph:
    """The steps of one batch, in an order that satisfies every read."""

    nodes: tuple[Node, ...]

    def node(self, id: str) -> Node | None:
        """The node of that id, or None."""
        return next((n for n in self.nodes if n.id == id), None)

    def of(self, kind: str) -> tuple[Node, ...]:
        """The nodes of one kind, in order."""
        return tuple(n for n in self.nodes if n.kind == kind)

    def readers(self, name: str) -> tuple[Node, ...]:
        """The nodes that read a field."""
        return tuple(n for n in self.nodes if name in n.reads)

    def fields(self) -> tuple[Field, ...]:
        """Every field, in order of first mention."""
        names = dict.fromkeys(name for n in self.nodes for name in (*n.reads, *n.writes))
        return tuple(Field(name, grain_of(name)) for name in names)

    def change(self, id: str, **changes: Any) -> Graph:
        """The graph with parts of one node replaced; `options` are merged into the ones there are."""
        def changed(n: Node) -> Node:
            merged = {**n.options, **changes["options"]} if "options" in changes else n.options
            return replace(n, **{**changes, "options": merged})

        return Graph(tuple(changed(n) if n.id == id else n for n in self.nodes))

    def without(self, ids: Iterable[str]) -> Graph:
        """The graph without some nodes."""
        gone = set(ids)
        return Graph(tuple(n for n in self.nodes if n.id not in gone))


def grain_of(name: str) -> str:
    """The grain of a field. KeyError for a name that no part of the pipeline knows."""
    if is_divergence(name):
        return TOKEN
    return RESPONSE if name.startswith("score.") else UPDATE if name.startswith(CARRIED) else GRAINS[name]


def verify(graph: Graph) -> None:
    """Raises ValueError where a graph cannot run: a defect of the compiler, never of a recipe."""
    broken = list(_broken(graph))
    if broken:
        raise ValueError("; ".join(broken))


def _broken(graph: Graph) -> Iterator[str]:
    known, ids = set(INPUTS), set()
    for n in graph.nodes:
        if n.id in ids:
            yield f"two nodes are called {n.id}"
        if n.kind not in KINDS or n.engine not in ENGINES:
            yield f"{n.id} has kind {n.kind} on engine {n.engine}"
        for name in n.reads:
            if name not in known and not name.startswith(CARRIED):
                yield f"{n.id} reads {name} before anything writes it"
        for name in (*n.reads, *n.writes):
            if name not in GRAINS and not name.startswith(("score.", CARRIED, PREFIX)):
                yield f"{n.id} names the unknown field {name}"
        ids.add(n.id)
        known.update(n.writes)


# ── text form ────────────────────────────────────────────────────────────────────────────────────────

HEADER = "graph 1"


def to_text(graph: Graph) -> str:
    """One line a node: `id kind@engine (reads) -> (writes) {options}`; `from_text` gives the same graph back."""
    lines = [HEADER]
    for n in graph.nodes:
        options = json.dumps(n.options, sort_keys=True, ensure_ascii=False)
        lines.append(f"{n.id} {n.kind}@{n.engine} ({', '.join(n.reads)}) -> ({', '.join(n.writes)}) {options}")
    return "\n".join(lines) + "\n"


def from_text(text: str) -> Graph:
    """The inverse of `to_text`. ValueError where the text is not such a form."""
    head, *lines = text.splitlines()
    if head != HEADER:
        raise ValueError(f"not a graph: the first line is {head!r}, not {HEADER!r}")
    return Graph(tuple(_node(line) for line in lines))


def _node(line: str) -> Node:
    id, what, rest = line.split(" ", 2)
    kind, _, engine = what.partition("@")
    reads, _, rest = rest[1:].partition(") -> (")
    writes, _, options = rest.partition(") ")
    return Node(id, kind, _names(reads), _names(writes), engine, json.loads(options))


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(", ")) if text else ()


# ── as data, for plan.json ───────────────────────────────────────────────────────────────────────────

def to_json(graph: Graph) -> list[dict[str, Any]]:
    """The graph as JSON data."""
    return [{"id": n.id, "kind": n.kind, "reads": list(n.reads), "writes": list(n.writes), "engine": n.engine,
             "options": dict(n.options)} for n in graph.nodes]


def from_json(data: list[dict[str, Any]]) -> Graph:
    """The inverse of `to_json`."""
    return Graph(tuple(Node(d["id"], d["kind"], tuple(d["reads"]), tuple(d["writes"]), d["engine"], d["options"])
                       for d in data))
