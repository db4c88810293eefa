"""What a diff means: which axes, whether a gain has one cause, and what changes in formula, models and cost."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rldsl.axes.discover import AXES

from . import lower
from . import objective as objectives
from .canonical import canonical, from_canonical
from .diff import Change, SeedChanged, SettingChanged, diff
from .fingerprint import DATA, OBJECTIVE, PLACEMENT, SEED
from .graph import CRITIC_WEIGHTS, JUDGE_WEIGHTS, REFERENCE_WEIGHTS, REWARD_WEIGHTS, TEACHER_WEIGHTS, Graph
from .objective import Objective
from .passes import run_passes
from .recipe import Recipe

EFFECTS = {OBJECTIVE: "what is learned", DATA: "what it is learned from or judged on",
           PLACEMENT: "where it runs, which is not another experiment", SEED: "the random draws"}
MODELS = {REFERENCE_WEIGHTS: "a frozen reference model", CRITIC_WEIGHTS: "a critic",
          TEACHER_WEIGHTS: "a frozen teacher", REWARD_WEIGHTS: "a reward model", JUDGE_WEIGHTS: "a judge"}
FORMULAS = {"reward": "reward", "token_reward": "reward per token", "advantage": "advantage", "ratio": "ratio",
            "policy": "gated term", "regularisers": "regularisers", "weight": "weights of tokens",
            "correction": "correction of the distribution", "value_target": "target of the critic",
            "keeps": "groups that are kept", "leaves_first": "responses that leave before statistics",
            "leaves_later": "responses that leave the loss", "counted": "tokens in the denominators",
            "state": "what is carried to the next batch"}


@dataclass(frozen=True)
class Difference:
    """A diff with what follows from it.

    `axes` and `settings` are the axes and blocks that changed, `moves` the fingerprints, `note` says whether a gain
    could be attributed, `consequences` what changes in the objective, in models, forwards and cost.
    """

    changes: tuple[Change, ...]
    axes: tuple[str, ...]
    settings: tuple[str, ...]
    moves: tuple[str, ...]
    note: str
    consequences: tuple[str, ...]


def compare(a: Recipe | Mapping[str, Any], b: Recipe | Mapping[str, Any]) -> Difference:
    """The difference between two recipes, typed or in canonical form."""
    old, new = (from_canonical(canonical(x) if isinstance(x, Recipe) else x) for x in (a, b))
    changes = diff(a, b)
    axes = dict.fromkeys(c.place for c in changes if is_axis(c))
    settings = dict.fromkeys(c.place for c in changes if not is_axis(c) and not isinstance(c, SeedChanged))
    targets = tuple(t for t in EFFECTS if any(c.moves == t for c in changes))
    follows = tuple(_consequences(old, new)) if changes else ()
    return Difference(tuple(changes), tuple(axes), tuple(settings), targets, _note(changes), follows)


def is_axis(change: Change) -> bool:
    """Whether a change is on one of the eight axes (and not in a block of settings)."""
    return change.place in AXES and not isinstance(change, SettingChanged)


def _note(changes: Sequence[Change]) -> str:
    matter = [c for c in changes if c.moves in (OBJECTIVE, DATA)]
    places = list(dict.fromkeys(f"the axis {c.place}" if is_axis(c) else f"the {c.place} settings" for c in matter))
    if not changes:
        return "Nothing that training depends on differs."
    if not matter:
        return "This is the same experiment: another result would be chance or a fault, not the method."
    if len(places) == 1:
        return f"Only {places[0]} differs, so a gain can be attributed to it."
    return (f"{len(places)} things differ ({', '.join(places)}), so a gain cannot be attributed to one of them: "
            "change one at a time.")


def _consequences(old: Recipe, new: Recipe) -> Iterator[str]:
    formulas = [objectives.build(r) for r in (old, new)]
    yield _formula(*formulas)
    before, after = (_graph(r, o) for r, o in zip((old, new), formulas, strict=True))
    for field, model in MODELS.items():
        had, has = (any(field in n.reads for n in g.nodes) for g in (before, after))
        if had != has:
            yield f"{model[0].upper()}{model[1:]} is {'needed now' if has else 'no longer needed'}."
    had, has = ({n.id: n for n in g.nodes if n.kind in ("logprob", "value")} for g in (before, after))
    for name in sorted(had.keys() - has.keys()):
        yield f"One forward pass less per batch: {', '.join(had[name].writes)}."
    for name in sorted(has.keys() - had.keys()):
        yield f"One forward pass more per batch: {', '.join(has[name].writes)}."
    for what, x, y in _amounts(old, new):
        if x is not None and y is not None and x != y:
            yield f"{what} per batch: {x} becomes {y}."


def _formula(old: Objective, new: Objective) -> str:
    changed = [FORMULAS[f.name] for f in dataclasses.fields(Objective)
               if f.name in FORMULAS and getattr(old, f.name) != getattr(new, f.name)]
    return f"The formula changes in: {', '.join(changed)}." if changed else "The formula of the objective is the same."


def _graph(recipe: Recipe, objective: Objective) -> Graph:
    return run_passes(objective, lower.build(recipe, objective))[1]


def _amounts(old: Recipe, new: Recipe) -> Iterator[tuple[str, Any, Any]]:
    yield "Responses", _responses(old), _responses(new)
    yield "Tokens sampled at most", _tokens(old), _tokens(new)
    yield "Optimizer steps", _steps(old), _steps(new)


def _responses(r: Recipe) -> int | None:
    prompts = r.settings.data.prompts
    return None if prompts is None else prompts * r.sampling[0].choice.siblings()


def _tokens(r: Recipe) -> int | None:
    responses = _responses(r)
    return None if responses is None else responses * r.sampling[0].choice.max_tokens


def _steps(r: Recipe) -> int:
    return r.settings.optim.updates_per_batch * r.settings.optim.epochs


def to_text(d: Difference) -> str:
    """The difference for a terminal: one line a change, grouped by what it moves, then what follows."""
    lines = []
    for target in d.moves:
        lines += [f"{target}: {EFFECTS[target]}", *(f"  {c.sentence}" for c in d.changes if c.moves == target), ""]
    if d.consequences:
        lines += ["what follows", *(f"  {c}" for c in d.consequences), ""]
    return "\n".join([*lines, d.note])


def to_json(d: Difference) -> dict[str, Any]:
    """The difference as JSON data."""
    changes = [{"kind": type(c).__name__, **dataclasses.asdict(c), "sentence": c.sentence} for c in d.changes]
    return {"changes": changes, "axes": list(d.axes), "settings": list(d.settings), "moves": list(d.moves),
            "note": d.note, "consequences": list(d.consequences)}
