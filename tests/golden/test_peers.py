"""The dialect recipes compute what TRL and verl returned on the same numbers, and each of their settings matters."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

from rldsl.cli.main import main
from rldsl.compiler.objective import build
from rldsl.compiler.resolve import resolve
from rldsl.runtime.probe import probe, read_batch

ROOT = Path(__file__).parents[2]
DIALECTS = ROOT / "recipes" / "dialects"
PEERS = json.loads((Path(__file__).parent / "peers.json").read_text(encoding="utf-8"))
BATCHES = {name: read_batch(json.dumps(batch), name) for name, batch in PEERS["batches"].items()}
CASES = [(case, batch) for case, row in PEERS["cases"].items() for batch in row["answers"]]


def apart(recipe: Path, case: str, batch: str) -> float:
    """The largest difference of loss and gradients, relative to the larger of 1 and the framework's number."""
    answer = PEERS["cases"][case]["answers"][batch]
    found = probe(build(resolve(str(recipe))), BATCHES[batch])
    mine = [found["loss"], *(x for r in found["responses"] for x in r["gradient"])]
    other = [answer["loss"], *(x for row in answer["gradient"] for x in row)]
    return max(abs(x - y) / max(1.0, abs(y)) for x, y in zip(mine, other, strict=True))


@pytest.mark.parametrize("case, batch", CASES, ids=lambda x: x)
def test_the_recipe_computes_what_the_framework_returned(case, batch):
    assert apart(DIALECTS / f"{case}.rl", case, batch) < 1e-6


def test_every_recipe_of_the_two_frameworks_is_compared():
    shipped = {f"{f.parent.name}/{f.stem}" for name in ("trl", "verl") for f in (DIALECTS / name).glob("*.rl")}
    assert shipped == set(PEERS["cases"])


SETTINGS = [
    ("trl/grpo", "near", "eps: 1e-4", "eps: 1e-6"),
    ("trl/grpo", "near", "std: sample, ", ""),
    ("trl/grpo", "near", "token_mean", "response_mean"),
    ("trl/grpo", "far", "log_high: none", "log_high: 20"),
    ("trl/grpo_kl", "near", ", weight: ratio", ", weight: sg_ratio"),
    ("trl/grpo_vllm", "near", "grain: product", "grain: geometric"),
    ("trl/grpo_vllm", "near", ", weight: kept", ""),
    ("trl/gspo", "near", "token_mean", "sequence_mean"),
    ("trl/gspo", "far", "log_high: none", "log_high: 20"),
    ("trl/cispo", "near", ", ceiling: 0.2", ", high: 0.2"),
    ("trl/rloo", "near", "trajectory(", "sequence("),
    ("trl/rloo", "far", "log_high: none", "log_high: 20"),
    ("trl/rloo", "near", "kl_in_reward(0.05, ", "kl_in_reward(0, "),
    ("verl/grpo", "far", ", dual: 3", ""),
    ("verl/grpo", "far", "dual: 3", "dual: 10"),
    ("verl/grpo_kl", "far", ", cap: 10", ""),
    ("verl/gspo", "far", "log_high: 10", "log_high: 20"),
    ("verl/cispo", "near", "cispo(0.2, ", "cispo(1.0, "),
    ("verl/rloo", "near", "advantage = rloo", "advantage = group_mean"),
    ("verl/ppo", "near", "lambda: 1)", "lambda: 0.95)"),
    ("verl/ppo", "near", "whiten(std: sample)", "whiten"),
    ("verl/ppo_kl", "near", "kl_in_reward(0.001)", "kl_in_reward(0.002)"),
]


@pytest.mark.parametrize("case, reach, text, instead", SETTINGS, ids=lambda x: x)
def test_a_setting_in_which_a_dialect_differs_is_seen(case, reach, text, instead, tmp_path):
    for file in (DIALECTS / case).parent.glob("*.rl"):
        (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    changed = tmp_path / f"{Path(case).name}.rl"
    before = changed.read_text(encoding="utf-8")
    assert re.sub("#.*", "", before).count(text) >= 1
    changed.write_text(before.replace(text, instead), encoding="utf-8")
    batch = next(b for b in PEERS["cases"][case]["answers"] if b.endswith(reach))
    assert apart(changed, case, batch) > 1e-6


def test_the_page_shows_the_recipes_as_they_are():
    folder = ROOT / "benchmarks" / "dialects"
    shown = runpy.run_path(str(folder / "names.py"))["tables"]()
    page = (ROOT / "docs" / "dialects.md").read_text(encoding="utf-8")
    assert shown in page, "benchmarks/dialects/names.py prints the tables"


def test_diff_shows_what_differs_under_one_name(capsys):
    assert main(["diff", str(DIALECTS / "trl" / "grpo.rl"), str(DIALECTS / "verl" / "grpo.rl")]) == 0
    shown = capsys.readouterr().out
    for sentence in ("`eps` of group_norm goes from 0.0001 to 1e-6", "`log_high` of token goes from none to 20",
                     "`dual` of clip goes from none to 3"):
        assert sentence in shown
    assert "kl" not in shown and "  reduction: " not in shown
