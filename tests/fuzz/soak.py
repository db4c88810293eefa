"""Many random recipes, counted: `python -m tests.fuzz.soak [N] [FIRST_SEED]`. Every tenth one that compiles is trained.

Prints the outcomes, the codes of refusals and warnings with an example seed each, and every failure with its recipe.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path

from .outcome import Outcome, outcome
from .recipes import recipe_text

TRAIN_EVERY = 10


def soak(count: int, first: int) -> int:
    """The number of failures."""
    kinds, codes, seeds, failures = Counter(), Counter(), {}, []
    for seed in range(first, first + count):
        try:
            found = attempt(seed)
        except Exception:
            failures.append(seed)
            print(f"seed {seed} failed\n{recipe_text(seed)}\n{traceback.format_exc()}", flush=True)
            continue
        kinds[found.kind] += 1
        for code in (*found.codes, *found.warnings, *(f"{note} (a note)" for note in found.notes)):
            codes[code] += 1
            seeds.setdefault(code, seed)
    print(f"{count} recipes: " + ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())))
    print("\n".join(f"  {code}  {n:>6}  first at seed {seeds[code]}" for code, n in sorted(codes.items())))
    print(f"{len(failures)} failures {failures}")
    return len(failures)


def attempt(seed: int) -> Outcome:
    """One recipe in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return outcome(recipe_text(seed), Path(folder), seed % TRAIN_EVERY == 0)


if __name__ == "__main__":
    count, first = ([int(x) for x in sys.argv[1:]] + [10_000, 0][len(sys.argv) - 1:])[:2]
    sys.exit(1 if soak(count, first) else 0)
