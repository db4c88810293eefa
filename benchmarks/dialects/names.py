"""One name, what it means in each framework: tables for docs/dialects.md, read off the recipes."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from rldsl.axes.base import Shaping  # noqa: E402
from rldsl.compiler.recipe import Recipe, feedback_nodes  # noqa: E402
from rldsl.compiler.resolve import resolve  # noqa: E402
from rldsl.compiler.show import show  # noqa: E402

FRAMEWORKS = ("trl", "verl", "slime", "openrlhf", "nemo_rl")
NAMES = {"GRPO": "grpo", "GSPO": "gspo", "CISPO": "cispo", "RLOO": "rloo", "PPO": "ppo"}


def tables() -> str:
    """A table for each name: the paper's recipe first, then each framework's."""
    lines: list[str] = []
    for title, name in NAMES.items():
        lines += [f"### {title}", "", "| whose | reward beside the score | advantage | ratio | gate | reduction |",
                  "| --- | --- | --- | --- | --- | --- |"]
        files = {"the paper's": ROOT / "recipes" / "algorithms" / f"{name}.rl"}
        files |= {f"`{f}`": ROOT / "recipes" / "dialects" / f / f"{name}.rl" for f in FRAMEWORKS}
        lines += [_row(whose, resolve(str(file))) for whose, file in files.items() if file.exists()]
        lines.append("")
    return "\n".join(lines).rstrip("\n")


def _row(whose: str, recipe: Recipe) -> str:
    shaping = [n.choice for n in feedback_nodes(recipe.feedback) if isinstance(n.choice, Shaping)]
    gate = [recipe.gate.choice, *(n.choice for n in recipe.regularisers)]
    cells = [" + ".join(map(show, shaping)), " \\| ".join(show(n.choice) for n in recipe.advantage),
             show(recipe.ratio.choice), " + ".join(map(show, gate)), show(recipe.reduction.choice)]
    return f"| {whose} | " + " | ".join(f"`{c}`" if c else "" for c in cells) + " |"


if __name__ == "__main__":
    print(tables())
