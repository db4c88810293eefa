"""Every discovered choice, put into an otherwise plain recipe."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from typing import Any

from rldsl.algebra.divergence import is_divergence
from rldsl.algebra.expr import PAIR
from rldsl.axes import base, discover
from rldsl.axes.choice import Choice, Example
from rldsl.axes.detect import Detector
from rldsl.axes.parameters import Support
from rldsl.axes.searching import Search
from rldsl.compiler.objective import Objective, build
from rldsl.compiler.recipe import Node, Recipe, Sum
from rldsl.diagnostics import Span
from rldsl.runtime.probe import probe, read_batch
from rldsl.runtime.probe_file import BatchFile
from tests.probing import recipe_of

HERE = Span("example.rl", 1, 1, 1, 2)
CHOICES = [(axis, name) for axis in discover.FAMILIES for name in discover.names(axis)]
EXAMPLES = [(axis, name, example) for axis, name in CHOICES for example in discover.examples(axis, name)]


def place(choice: Choice, beside: dict[str, str] | None = None) -> Recipe:
    """A plain recipe with `choice` in its place and, on other axes, what `beside` says."""
    recipe, node = recipe_of(**(beside or {})), Node(choice, HERE)
    match choice:
        case base.Source():
            return replace(recipe, feedback=node)
        case base.Shaping() | base.RewardFilter() | base.Wrapping() | base.FailureRule():
            return replace(recipe, feedback=Sum((recipe.feedback, node)))
        case base.Sampler():
            return replace(recipe, sampling=(node,))
        case base.SamplingStage():
            return replace(recipe, sampling=(*recipe.sampling, node))
        case base.Estimator():
            return replace(recipe, advantage=(node,))
        case base.AdvantageStage():
            return replace(recipe, advantage=(*recipe.advantage, node))
        case base.Gate():
            return replace(recipe, gate=node)
        case base.Regulariser():
            return replace(recipe, regularisers=(node,))
        case base.Ratio() | base.Reduction():
            return replace(recipe, **{choice.axis: node})
        case base.Distribution():
            return replace(recipe, distribution=(node,))
    raise TypeError(f"{choice} has no place in an objective")


def example_choice(axis: str, name: str, example: Example | None = None) -> Choice:
    """The choice with an example's parameters (of its first example, if none is given)."""
    example = example or next(iter(discover.examples(axis, name)))
    return discover.find(axis, name)(**example.params)


def in_objective(axis: str, name: str) -> bool:
    """Whether a choice shows in the objective: schedules, placements, optimizers, detectors and searches do
    not."""
    apart = (base.Schedule, base.Placement, base.Optimizer, base.Decay, base.Latency, Support, Detector, Search)
    return not issubclass(discover.find(axis, name), apart)


OBJECTIVE_CHOICES = [(axis, name) for axis, name in CHOICES if in_objective(axis, name)]


def objective_of(axis: str, name: str) -> Objective:
    """The objective of the plain recipe with this choice, as in its first example."""
    example = next(iter(discover.examples(axis, name)))
    return build(place(example_choice(axis, name, example), example.beside))


def random_batch(seed: int = 0, responses: int = 8, group: int = 4, spread: float = 0.4) -> list[dict[str, Any]]:
    """A batch that gives every quantity a formula may read."""
    draw = random.Random(seed)
    out = []
    for i in range(responses):
        n = draw.randint(1, 4)
        logp = lambda n=n: [-1.5 + draw.uniform(-spread, spread) for _ in range(n)]  # noqa: E731
        out.append({"prompt": f"p{i // group}", "reward": float(draw.random() < 0.5), "truncated": draw.random() < 0.3,
                    "logp_current": logp(), "logp_old": logp(), "logp_rollout": logp(), "logp_ref": logp(),
                    "values": [draw.random() for _ in range(n)], "entropy": [draw.random() for _ in range(n)],
                    "kl_exact": [draw.random() for _ in range(n)], "squares": [draw.random() for _ in range(n)],
                    "versions": [draw.randint(5, 9) if i % 2 else 9 for _ in range(n)],
                    "logp_teacher": logp(), "rewards": [draw.random() for _ in range(n)],
                    "mc_values": [draw.random() for _ in range(n)],
                    "invalid": [int(draw.random() < 0.3) for _ in range(n)],
                    "succeeded": [int(draw.random() < 0.3) for _ in range(n)],
                    "errors": [int(draw.random() < 0.2) for _ in range(n)], "greedy_reward": float(i // group % 2),
                    "quality": draw.uniform(0.1, 1.0), "agent": i % 2, "chosen": 1 - i % 2,
                    "mismatched": draw.uniform(-1, 1), "logp_pretrain": -2.5, "turns": [t // 2 for t in range(n)],
                    "steps": [t // 3 for t in range(n)], "segments": [t // 2 for t in range(n)],
                    "scores": {"verify": draw.random(), "format": draw.random()},
                    "states": [draw.randint(0, 1) for _ in range(n)]})
    return out


def batch_file(objective: Objective, responses: list[dict[str, Any]], trainer_version: int | None = None) -> BatchFile:
    """These responses as the BATCH.json that the objective takes: pairs or responses, with its own scores."""
    labels, compared = {s.label for s in objective.scores}, sorted(filter(is_divergence, objective.reads()))
    responses = [{**r, "divergences": {name: [abs(x) / (k + 1) for x in r["logp_current"]]
                                       for k, name in enumerate(compared)} | r.get("divergences", {})}
                 for r in responses]
    responses = [r | {"scores": {k: r["scores"].get(k, r["scores"].get(k[:-2], 0.0) / (1 + int(k[-1:].isdigit())))
                                 for k in labels}} if "scores" in r else r
                 for r in responses]
    file = {"responses": responses} if not over_pairs(objective) else {"pairs": paired(responses)}
    texts = next((r["logp_pretrain"] for r in responses if "logp_pretrain" in r), None)
    for r in (*responses, *(m for p in file.get("pairs", ()) for m in p.values())):
        r.pop("logp_pretrain", None)
    more = {"trainer_version": trainer_version, "logp_pretrain": texts}
    return read_batch(json.dumps(file | more), "BATCH.json")


def run(objective: Objective, responses: list[dict[str, Any]], trainer_version: int | None = None) -> dict[str, Any]:
    """probe on these responses."""
    out = probe(objective, batch_file(objective, responses, trainer_version))
    return out if "responses" in out else {**out, "responses": [p[k] for p in out["pairs"] for k in p]}


def over_pairs(objective: Objective) -> bool:
    """Whether the objective compares the two responses of pairs."""
    return PAIR in objective.grains()


def paired(responses: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Neighbours as pairs, the first of each preferred; a response without a neighbour is its own."""
    pairs = [(responses[i], responses[min(i + 1, len(responses) - 1)]) for i in range(0, len(responses), 2)]
    return [{"chosen": a, "rejected": b} for a, b in pairs]


def another_order(objective: Objective, rows: int) -> list[int]:
    """A random order of rows that leaves pairs together."""
    size = 2 if over_pairs(objective) else 1
    units = random.Random(1).sample(range(rows // size), rows // size)
    return [u * size + k for u in units for k in range(size)]


def numbers(x: Any) -> list[float]:
    """Every number in a nested result."""
    if isinstance(x, dict):
        return [n for v in x.values() for n in numbers(v)]
    if isinstance(x, list):
        return [n for v in x for n in numbers(v)]
    return [float(x)] if isinstance(x, (int, float)) and not isinstance(x, bool) else []


def finite(x: Any) -> bool:
    """Whether every number in a nested result is finite."""
    return all(map(math.isfinite, numbers(x)))
