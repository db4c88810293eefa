"""Whether the dialect recipes compute what their frameworks compute: loss and gradients, on the same numbers.

    python -m venv peers
    peers/bin/pip install torch==2.13.0 trl==1.16.0 verl==0.9.1 cachetools fastapi pillow uvicorn
    python benchmarks/dialects/compare.py --peer-python peers/bin/python [--write]

For each recipe under recipes/dialects/trl and recipes/dialects/verl, `probe` in this environment and the framework's
own functions in the other one get two batches of random ragged numbers: one with ratios around the bounds, one that
also holds tokens far beyond all of them. Prints the largest differences in float64, and beside them what the recipe of
the paper makes of the same numbers. `--write` puts the table into docs/dialects.md and the numbers into
tests/golden/peers.json. Fails where a difference is above 1e-6, relative to the larger of 1 and the framework's number.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from names import tables  # noqa: E402

from rldsl.compiler.objective import build  # noqa: E402
from rldsl.compiler.resolve import resolve  # noqa: E402
from rldsl.runtime.probe import probe, read_batch  # noqa: E402

SAME = 1e-6
SEED = 3
SIZES = {"singles": 1, "twos": 2, "groups": 4}
"""Responses per prompt in the batches; a recipe gets the largest that it can have."""
LOSS, ESTIMATOR = "actor_rollout_ref.actor.policy_loss.loss_mode", "algorithm.adv_estimator"
VLLM = {"use_vllm": True}
"""Set after building, since building with it starts vLLM."""
SETTINGS: dict[str, dict] = {
    "trl/grpo": {},
    "trl/grpo_kl": {"beta": 0.04},
    "trl/grpo_vllm": {"after": VLLM},
    "trl/gspo": {"importance_sampling_level": "sequence"},
    "trl/cispo": {"loss_type": "cispo"},
    "trl/rloo": {"trainer": "rloo"},
    "verl/grpo": {ESTIMATOR: "grpo"},
    "verl/grpo_kl": {ESTIMATOR: "grpo", "actor_rollout_ref.actor.use_kl_loss": True},
    "verl/gspo": {ESTIMATOR: "grpo", LOSS: "gspo"},
    "verl/cispo": {ESTIMATOR: "grpo", LOSS: "cispo"},
    "verl/rloo": {ESTIMATOR: "rloo"},
    "verl/ppo": {},
    "verl/ppo_kl": {"algorithm.use_kl_in_reward": True},
}
"""What is set in the framework for each recipe; everything else is its default."""


def recipe_of(case: str):
    """The recipe of a case, typed."""
    return resolve(str(ROOT / "recipes" / "dialects" / f"{case}.rl"))


def paper_of(case: str):
    """The recipe of the paper whose name the case bears."""
    name = case.partition("/")[2].partition("_")[0]
    return resolve(str(ROOT / "recipes" / "algorithms" / f"{name}.rl"))


def random_batch(siblings: int, far: bool, seed: int) -> dict:
    """Three prompts with `siblings` responses, or twelve with one; the last group's rewards are equal.

    With `far` some tokens are moved by up to e^±24 from `old` and e^±12 from `ref`, and of two prompts the last
    response, of reward 0, is moved up as a whole.
    """
    draw, rows = random.Random(seed), []
    prompts = 3 if siblings > 1 else 12

    def near(values: list[float], spread: float, jumps: tuple[float, ...]) -> list[float]:
        jump = [draw.choice(jumps) if far and draw.random() < 0.15 else 0.0 for _ in values]
        return [round(v + draw.gauss(0.0, spread) + j, 4) for v, j in zip(values, jump, strict=True)]

    for i in range(prompts * siblings):
        n, prompt = draw.randint(1, 9), i // siblings
        old = [round(draw.gauss(-1.6, 0.5), 4) for _ in range(n)]
        equal = siblings > 1 and prompt == prompts - 1
        whole = far and siblings > 1 and not equal and i % siblings == siblings - 1
        current = near(old, 0.3, (-24.0, -11.0, 11.0, 24.0)) if not whole else [x + (11.0, 24.0)[prompt] for x in old]
        reward = 0.5 if equal else 0.0 if whole else draw.choice((0.0, 0.25, 0.5, 1.0))
        rows.append({"prompt": f"p{prompt}", "reward": reward, "logp_current": current, "logp_old": old,
                     "logp_rollout": [round(x + draw.gauss(0.0, 0.4), 4) for x in old],
                     "logp_ref": near(current, 0.3, (-12.0, 12.0)),
                     "values": [round(draw.random(), 4) for _ in range(n)]})
    return {"responses": rows}


BATCHES = {f"{size} {reach}": random_batch(n, reach == "far", SEED) for size, n in SIZES.items()
           for reach in ("near", "far")}
"""{"groups near": batch, …}"""


def batches_of(case: str) -> dict[str, dict]:
    """The two batches of a case: {"near": batch, "far": batch}."""
    siblings = recipe_of(case).sampling[0].choice.siblings()
    size = max((s for s, n in SIZES.items() if n <= siblings), key=SIZES.get)
    return {reach: BATCHES[f"{size} {reach}"] for reach in ("near", "far")}


def ours(recipe, batch: dict) -> dict:
    """Loss and gradients by `probe`."""
    found = probe(build(recipe), read_batch(json.dumps(batch), "batch"))
    return {"loss": found["loss"], "gradient": [r["gradient"] for r in found["responses"]]}


def theirs(python: str, framework: str, asked: dict) -> dict:
    """What the framework's process answers."""
    script = Path(__file__).with_name(f"peer_{framework}.py")
    quiet = os.environ | {"PYTHONWARNINGS": "ignore", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run([python, str(script)], input=json.dumps(asked), capture_output=True, text=True, env=quiet)
    if done.returncode:
        sys.exit(f"{script.name} failed:\n{done.stderr[-4000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def difference(a: dict, b: dict) -> tuple[float, float]:
    """The largest differences of loss and gradient, relative to the larger of 1 and the framework's number."""
    def apart(x: float, y: float) -> float:
        return abs(x - y) / max(1.0, abs(y)) if math.isfinite(x) and math.isfinite(y) else math.inf

    gradients = [apart(x, y) for mine, other in zip(a["gradient"], b["gradient"], strict=True)
                 for x, y in zip(mine, other, strict=True)]
    return apart(a["loss"], b["loss"]), max(gradients)


def beside_paper(case: str, batch: dict, answer: dict) -> tuple[float, float]:
    """The framework's gradient against that of the paper's recipe on the same numbers: (norm over norm, cosine)."""
    paper = [x for row in ours(paper_of(case), batch)["gradient"] for x in row]
    peer = [x for row in answer["gradient"] for x in row]
    dot = sum(x * y for x, y in zip(paper, peer, strict=True))
    return math.hypot(*peer) / math.hypot(*paper), dot / (math.hypot(*peer) * math.hypot(*paper))


def compare(python: str) -> tuple[dict, dict]:
    """({case: {"settings", "batches", "answers", "apart"}}, versions) of every case."""
    found, versions = {}, {}
    for framework in ("trl", "verl"):
        cases = [c for c in SETTINGS if c.startswith(f"{framework}/")]
        asked = {c: {"settings": SETTINGS[c], "batches": batches_of(c)} for c in cases}
        said = theirs(python, framework, asked)
        versions |= said["versions"]
        for case, want in asked.items():
            apart = {name: difference(ours(recipe_of(case), batch), said["answers"][case][name])
                     for name, batch in want["batches"].items()}
            found[case] = {**want, "answers": said["answers"][case], "apart": apart}
    return found, versions


def table(found: dict, versions: dict) -> str:
    """The results as Markdown."""
    lines = [f"Measured with {', '.join(f'{k} {v}' for k, v in versions.items())}, in float64.", "",
             "| recipe | set in the framework, beside its defaults | loss | apart: loss, gradient | "
             "apart, far: loss, gradient | gradient beside the paper's: size, cosine |",
             "| --- | --- | --- | --- | --- | --- |"]
    for case, row in found.items():
        set_ = ", ".join(f"`{k}={v}`" for k, v in _shown(row["settings"]).items()) or "nothing"
        near, far = (", ".join(f"{x:.1e}" for x in row["apart"][name]) for name in ("near", "far"))
        answer = row["answers"]["near"]
        size, cosine = beside_paper(case, row["batches"]["near"], answer)
        lines.append(f"| `{case}` | {set_} | {answer['loss']:.6f} | {near} | {far} | {size:.3f}, {cosine:.3f} |")
    return "\n".join(lines)


def _shown(settings: dict) -> dict:
    """The settings under the framework's own names."""
    plain = {k.rpartition(".")[2]: v for k, v in settings.items() if k not in ("trainer", "after")}
    trainer = {"trainer": "RLOOTrainer"} if "trainer" in settings else {}
    return trainer | plain | settings.get("after", {})


def write(found: dict, versions: dict) -> None:
    """The tables into the page, between their marks, and the numbers into the golden file."""
    page = ROOT / "docs" / "dialects.md"
    text = page.read_text(encoding="utf-8")
    for mark, part in (("names", tables()), ("measured", table(found, versions))):
        before, _, rest = text.partition(f"<!-- {mark} -->\n")
        text = f"{before}<!-- {mark} -->\n\n{part}\n\n<!-- end -->\n" + rest.partition("<!-- end -->\n")[2]
    page.write_text(text, encoding="utf-8")
    names = {id(batch): name for name, batch in BATCHES.items()}
    cases = {case: {"settings": row["settings"], "answers": {
        names[id(row["batches"][reach])]: answer for reach, answer in row["answers"].items()}}
        for case, row in found.items()}
    golden = {"versions": versions, "batches": BATCHES, "cases": cases}
    text = json.dumps(golden).replace('{"prompt"', '\n{"prompt"').replace('{"settings"', '\n{"settings"')
    (ROOT / "tests" / "golden" / "peers.json").write_text(text + "\n", encoding="utf-8")


def main() -> int:
    """Prints the table; 1 where something differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--peer-python", required=True, help="python of the environment that holds trl and verl")
    parser.add_argument("--write", action="store_true", help="update the page and the golden numbers")
    args = parser.parse_args()
    found, versions = compare(args.peer_python)
    print(table(found, versions))
    if args.write:
        write(found, versions)
    wrong = [case for case, row in found.items() if max(map(max, row["apart"].values())) > SAME]
    print(f"different: {', '.join(wrong)}" if wrong else "every recipe agrees with its framework")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
