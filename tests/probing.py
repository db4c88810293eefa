"""Recipes from a few words, and their objective on given numbers: what the numeric tests are written in."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Any

from rldsl.compiler.objective import build
from rldsl.compiler.recipe import Recipe
from rldsl.compiler.resolve import resolve
from rldsl.runtime.probe import probe, read_batch

PLAIN = {"feedback": "verify(exact)", "sampling": "single(max_tokens: 64)", "advantage": "monte_carlo",
         "ratio": "token(current / old)", "gate": "none", "reduction": "sequence_sum", "distribution": "on_policy",
         "system": "sync on colocated"}


def recipe_of(rest: str = "", **axes: str) -> Recipe:
    """A recipe with the plain choices except for `axes`; `rest` is more recipe text (blocks, profiles)."""
    lines = [f"  {axis} = {text}" for axis, text in {**PLAIN, **axes}.items()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test.rl"
        path.write_text("recipe test {\n" + "\n".join(lines) + f"\n{rest}\n}}\n", encoding="utf-8")
        return resolve(str(path))


def probe_of(responses: list[dict[str, Any]], *, trainer_version: int | None = None, **axes: str) -> dict[str, Any]:
    """probe's output for a recipe of the plain choices except for `axes`."""
    file = {"responses": responses} | ({} if trainer_version is None else {"trainer_version": trainer_version})
    return probe(build(recipe_of(**axes)), read_batch(json.dumps(file), "BATCH.json"))


def row(*ratios: float, reward: float | None = 0.0, prompt: str = "p", **more: Any) -> dict[str, Any]:
    """A response with one token per ratio (current/old; rollout equals old)."""
    n = len(ratios)
    return {"prompt": prompt, "reward": reward, "logp_current": [math.log(r) - 1.0 for r in ratios],
            "logp_old": [-1.0] * n, "logp_rollout": [-1.0] * n, **more}


def advantages(rewards: list[float | None], **axes: str) -> list[float | None]:
    """The advantage of each single-token sibling with these rewards."""
    out = probe_of([row(1.0, reward=r) for r in rewards], **axes)
    return [r["advantage"][0] if r["kept"] else None for r in out["responses"]]
