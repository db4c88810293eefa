"""What becomes of a random recipe: refused, stopped, compiled or trained; everything else is a failure."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.plan import Plan, from_json, to_json
from rldsl.compiler.resolve import profiles, resolve, sources
from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.diagnostics.render import render
from rldsl.runtime.errors import RunError

STOPS = {"RL406", "RL603", "RL607", "RL611"}
"""What may keep a compiled recipe from its two batches: more than one process, nothing to train on, a scorer
that the data has no column for, no group kept."""


@dataclass(frozen=True)
class Outcome:
    """`kind` is refused, stopped, compiled or trained; `codes` say why it was refused or stopped. `notes` are what
    `explain` alone shows."""

    kind: str
    codes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def outcome(text: str, folder: Path, train: bool) -> Outcome:
    """Compiles a file's recipe `fuzzed`, and trains it if asked to. AssertionError, or whatever went wrong, where the
    compiler or the runtime fails."""
    path = folder / "fuzzed.rl"
    path.write_text(text, encoding="utf-8")
    try:
        profile = next(iter(profiles(str(path), "fuzzed")), None)
        plan, found = compile_recipe(resolve(str(path), "fuzzed", profile=profile), profile=profile)
    except RecipeError as error:
        return Outcome("refused", *_reported(error.diagnostics))
    _, *rest = _reported(found)
    data = json.loads(json.dumps(to_json(plan), allow_nan=False))
    assert to_json(from_json(data)) == to_json(plan), "a plan is read as it was written"
    if not train:
        return Outcome("compiled", (), *rest)
    stopped = _trained(plan, folder)
    return Outcome("stopped" if stopped else "trained", stopped, *rest)


def _reported(found: list[Diagnostic] | tuple[Diagnostic, ...]) -> tuple[tuple[str, ...], ...]:
    """The codes of errors, warnings and notes that say all they should: what, where, and what to write instead."""
    assert found or isinstance(found, list), "refused without a reason"
    for d in found:
        assert d.code.startswith("RL") and d.message.endswith((".", "?", "!", "…")), d
        assert d.labels and any(label.primary for label in d.labels), d
        assert d.code.startswith("RL1") or d.fix, d
    assert len({(d.code, d.primary) for d in found}) == len(found), "one mistake is reported twice"
    assert not found or render(found, sources(list(found)), style="terminal")
    return tuple(tuple(sorted({d.code for d in found if d.severity == s})) for s in ("error", "warning", "info"))


def _trained(plan: Plan, folder: Path) -> tuple[str, ...]:
    """Runs both batches; the code of what stopped them, if something that may."""
    from rldsl.backends.local import launch
    from rldsl.runtime.recover import execute_through_deaths

    numbers: list[float] = []

    def observe(kind: str, data: dict) -> None:
        numbers.extend(data["metrics"].values() if kind == "step" else ())

    try:
        with launch.open_run(plan, folder / "run", folder, observe, resume=False) as run:
            execute_through_deaths(run)
            assert run.progress.batch == 2 and numbers
            assert all(p.isfinite().all() for p in run.trainer.policy.parameters()), "a weight is not finite"
    except RecipeError as error:
        codes = {d.code for d in error.diagnostics}
        assert codes <= STOPS, error
        return tuple(sorted(codes))
    except RunError as error:
        assert error.diagnostic.code in STOPS, error.diagnostic
        return (error.diagnostic.code,)
    assert all(map(math.isfinite, numbers)), "a metric is not finite"
    return ()
