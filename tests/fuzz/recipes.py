"""A random recipe from a seed: a sound one in which some axes, blocks and layers are drawn from all there are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from random import Random

from rldsl.axes import base, discover
from rldsl.axes.choice import Choice
from rldsl.axes.traits import VALUES, Trait
from rldsl.compiler.settings import hints
from rldsl.compiler.show import show
from rldsl.compiler.typehints import words

from .values import call, holds_together, plain

SOUND = {
    "feedback": "verify(exact)", "sampling": "group(4, max_tokens: 4)", "advantage": "group_mean",
    "ratio": "token(current / old)", "gate": "clip(0.2)", "reduction": "token_mean", "distribution": "on_policy",
    "system": "sync on colocated",
}
TASKS = ("toy:largest?length=3", "toy:reverse", "toy:copy")
SAMPLED = {"max_tokens": "4"}
"""Parameters that are held small, or mean something of this machine."""
BY_EXAMPLE = 0.4
"""How often a choice takes the parameters of one of its own examples."""
TRIES = 5
"""How often parameters are drawn again that do not fit one another: a recipe with such a choice tells nothing else."""
SLIP = 0.03
"""How often they stay as they are."""
MISSPELT = 0.01
INSIDE_TURNS = re.compile(r"\b(turn|turn_\w+|gigpo)\b")
INSIDE_STEPS = re.compile(r"\b(step|step_gae|tree|tree_\w+|vine|shared_mean|replay_prefix)\b")
CUT = re.compile(r"\b(steps|turns)\(")
FEW = (0, 0, 0, 1, 1, 2)
"""How many stages or terms are added."""


def recipe_text(seed: int) -> str:
    """A file whose last recipe is `fuzzed`; the same text for the same seed and vocabulary."""
    draw = Random(seed)
    axes = dict(SOUND)
    for axis in draw.sample(discover.AXES, draw.choice((1, 1, 1, 1, 2, 2, 3, 4, 6, 8))):
        axes[axis] = AXES[axis](draw)
    _complete(draw, axes)
    if draw.random() < MISSPELT:
        axes["gate"] = axes["gate"][1:]
    lines = [f"  {axis} = {text}" for axis, text in axes.items()] + [f"  {line}" for line in _blocks(draw, axes)]
    parent = "\n".join(["recipe base {", *lines, "}", ""])
    child = "\n".join(["recipe fuzzed extends base {", *_on_top(draw, axes), "}", ""])
    return _constants(draw, child) + parent + child


# ── axes ─────────────────────────────────────────────────────────────────────────────────────────────

def one(draw: Random, axis: str, role: type[Choice]) -> str:
    """A choice of a role, with parameters that mostly fit one another."""
    name = draw.choice([n for n in discover.names(axis) if issubclass(discover.find(axis, n), role)])
    text = _drawn(draw, axis, name)
    for _ in range(TRIES):
        if holds_together(text, axis) or draw.random() < SLIP:
            break
        text = _drawn(draw, axis, name)
    return text


def _drawn(draw: Random, axis: str, name: str) -> str:
    cls, examples = discover.find(axis, name), discover.examples(axis, name)
    given = {k: v for k, v in SAMPLED.items() if k in cls.__dataclass_fields__ and axis == "sampling"}
    if examples and draw.random() < BY_EXAMPLE:
        params = draw.choice(examples).params
        given = {**{field: _text(x, hints(cls)[field]) for field, x in params.items()}, **given}
    return call(draw, cls, name, given)


def _text(x: object, hint: object) -> str:
    if isinstance(x, float):
        return plain(x)
    texts = (x,) if isinstance(x, str) else x
    if not (isinstance(texts, tuple) and all(isinstance(t, str) and t not in words(hint) for t in texts)):
        return show(x)
    quoted = [json.dumps(t) for t in texts]
    return quoted[0] if isinstance(x, str) else f"[{', '.join(quoted)}]"


def many(draw: Random, axis: str, role: type[Choice]) -> list[str]:
    """None, one or two of them."""
    return [one(draw, axis, role) for _ in range(draw.choice(FEW))]


def _feedback(draw: Random) -> str:
    terms = [one(draw, "feedback", draw.choice((base.Source,) * 7 + (base.Shaping,)))]
    terms += many(draw, "feedback", draw.choice((base.Source, base.Shaping, base.RewardFilter, base.Wrapping, Choice)))
    terms = [draw.choice((f"{t}", f"{t}", f"0.5 * {t}")) for t in terms]
    if draw.random() < 0.1:
        terms[0] = f"{terms[0]} * {one(draw, 'feedback', base.Source)}"
    return " + ".join(terms)


def _piped(axis: str, first: type[Choice], stage: type[Choice]):
    return lambda draw: " | ".join([one(draw, axis, first), *many(draw, axis, stage)])


def _added(axis: str, first: type[Choice], more: type[Choice]):
    return lambda draw: " + ".join([one(draw, axis, first), *many(draw, axis, more)])


AXES = {
    "feedback": _feedback,
    "sampling": _piped("sampling", base.Sampler, base.SamplingStage),
    "advantage": _piped("advantage", base.Estimator, base.AdvantageStage),
    "ratio": lambda draw: one(draw, "ratio", base.Ratio),
    "gate": _added("gate", base.Gate, base.Regulariser),
    "reduction": lambda draw: one(draw, "reduction", base.Reduction),
    "distribution": _added("distribution", base.Distribution, base.Distribution),
    "system": lambda draw: draw.choice(("sync on colocated", f"{one(draw, 'system', base.Schedule)} on "
                                        f"{one(draw, 'system', base.Placement)}")),
}


def _complete(draw: Random, axes: dict[str, str]) -> None:
    """Mostly what looks inside a response gets something to look into, and an environment a word on its failures."""
    text = " ".join(axes.values())
    inside = "turn" if INSIDE_TURNS.search(text) else "step" if INSIDE_STEPS.search(text) else None
    if inside and draw.random() < 0.8 and not CUT.search(axes["sampling"]):
        axes["sampling"] += f" | steps(every: {draw.choice((1, 2))}, unit: {inside})"
    if "turns(" in axes["sampling"] and draw.random() < 0.8:
        axes["feedback"] += " + mask_infra_failures"


# ── blocks and layers ────────────────────────────────────────────────────────────────────────────────

MODELS = ("", "", ", max_prompt: 100", ", context: 64")
ROLES = {', teachers: ["toy:llama-1x16"]': re.compile(r"teacher|distill|outliers"),
         ', reward: "toy:llama-1x16"': re.compile(r"\breward_model\b"),
         ', judge: "toy:llama-1x16"': re.compile(r"\b(judge|pairwise|meta_rm)\b")}
"""The models that something asks, and what asks them."""
OPTIMIZERS = ("adamw(lr: 1e-3)", "sgd(lr: 0.1)", "adamw(lr: 1e-3, weight_decay: 0.1)")
OPTIMS = ("", "", ", epochs: 2", ", schedule: cosine", ", clip_grad: none")
CRITIC = "critic { sgd(lr: 0.1), updates_per_actor: 2 }"
EVALUATE = 'evaluate { "toy:largest?length=3", samples: 1, every: 2, problems: 4 }'


def _blocks(draw: Random, axes: dict[str, str]) -> Iterator[str]:
    text = " ".join(axes.values())
    asked = "".join(role for role, by in ROLES.items() if (by.search(text) is not None) != (draw.random() < 0.02))
    yield f'model {{ policy: "toy:llama-1x16", dtype: float32{draw.choice(MODELS)}{asked} }}'
    yield f'data {{ train: "{draw.choice(TASKS)}", prompts: {draw.choice((2, 4, 4, 6, 6))} }}'
    updates = draw.choice((1, 2, 2, 2, 3))
    yield f"optim {{ {draw.choice(OPTIMIZERS)}, updates_per_batch: {updates}{draw.choice(OPTIMS)} }}"
    yield "budget { steps: 2 }"
    yield "track { mlflow: none }"
    yield from draw.choice(((), (), (), ("cluster { local, micro_tokens: 40 }",), (_cluster(draw),)))
    if draw.random() < (0.5 if VALUES in _gives(axes["advantage"]) else 0.03):
        yield CRITIC
    if draw.random() < 0.25:
        yield EVALUATE


def _gives(advantage: str) -> frozenset[Trait]:
    found = discover.find("advantage", advantage.partition("(")[0].partition(" ")[0]).gives
    return found if isinstance(found, frozenset) else frozenset()


def _cluster(draw: Random) -> str:
    machine = {"nodes": (1, 2), "gpus_per_node": (1, 4, 8), "tensor": (1, 2, 3), "rollout_tensor": (1, 2)}
    parts = [f"{name}: {draw.choice(sizes)}" for name, sizes in machine.items() if draw.random() < 0.7]
    return f"cluster {{ {', '.join(['nodes: 1', *(p for p in parts if not p.startswith('nodes'))])} }}"


UNUSED = 0.03
"""How often a constant stands there that nothing uses."""


def _constants(draw: Random, used: str) -> str:
    known = {"few": draw.choice(("1", "2")), "part": draw.choice(("0.1", "0.25 * 2", "1 - 0.8"))}
    return "".join(f"let {name} = {value}\n" for name, value in known.items()
                   if name in used or draw.random() < UNUSED)


OVERRIDES = ("gate.low = part", "gate.coef = 0.1", "sampling.temperature = 0.7", "sampling.n = few * 2",
             "optim.epochs = few", "seed = 3", "reduction.uniform_groups = exclude", "sampling.top_p = 0.9")


def _on_top(draw: Random, axes: dict[str, str]) -> Iterator[str]:
    """What the child writes: nothing, overrides, or a profile's worth of them."""
    fits = [o for o in OVERRIDES if _exists(o, axes) or draw.random() < 0.02]
    chosen = draw.sample(fits, min(len(fits), draw.choice((0, 0, 1, 2))))
    if draw.random() < 0.2:
        yield from ("  profile small {", *(f"    {line}" for line in chosen), "  }")
    else:
        yield from (f"  {line}" for line in chosen)


def _exists(override: str, axes: dict[str, str]) -> bool:
    axis, _, parameter = override.partition(" ")[0].partition(".")
    if axis not in axes:
        return True
    name = axes[axis].partition("(")[0]
    cls = discover.find(axis, name)
    return cls is not None and parameter in cls.__dataclass_fields__ and " + " not in axes[axis]
