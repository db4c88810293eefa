"""κ = π_train / π_rollout with equal weights, by model, precision and layout of the trainer; experts, and the tokens
that truncation leaves, with replay and without.

    python benchmarks/kappa.py [ROWS]

vLLM samples, Megatron computes the log-probs of the same tokens, both through the cluster backend on this machine.
Weights are random and large, so that distributions are sharp and rounding shows. Every line is about the same tokens.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch

from rldsl.algebra import expr as a
from rldsl.backends.cluster.megatron.layout import Parallel
from rldsl.backends.cluster.placement import Reserved, reserve
from rldsl.backends.cluster.ray_session import ray_session
from rldsl.backends.cluster.rollout.engine_process import spawner as engine_spawner
from rldsl.backends.cluster.rollout.rollouts import Rollouts
from rldsl.backends.cluster.rollout.streams import EngineSpec
from rldsl.backends.cluster.training.rank import PolicySpec, RankSpec
from rldsl.backends.cluster.training.ranks import Ranks, start
from rldsl.backends.cluster.training.ranks import spawner as rank_spawner
from rldsl.backends.cluster.training.trainer import ClusterTrainer
from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.local.formats.hf_folder import write_folder
from rldsl.backends.local.formats.tokenizer import CharacterTokenizer
from rldsl.backends.local.load import load_policy
from rldsl.backends.local.training.optimizer import OptimizerSpec
from rldsl.compiler.objective import Objective
from rldsl.compiler.roles import ROLLOUT, TRAIN, Role
from rldsl.runtime.protocols import Cutting
from rldsl.runtime.trajectory import Request, SamplingOptions, Trajectory

DENSE, MOE, CUT = "dense, 2 layers of width 128", "4 experts, 2 of them active", "dense, top_p 0.9"
LAYOUTS = {"tp 1": Parallel(), "tp 2": Parallel(tensor=2), "pp 2": Parallel(pipeline=2)}
EXPERT_LAYOUTS = {"ep 1": Parallel(), "ep 2": Parallel(expert=2, data=2)}
SAMPLING = SamplingOptions(1.0, 48)
TRUNCATED = replace(SAMPLING, top_p=0.9)
SEED = 3


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    print("| model | precision | layout | \\|log κ\\|: mean | 99 % below | largest | first token: \\|κ − 1\\| below |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: |", flush=True)
    with tempfile.TemporaryDirectory() as place:
        for model, layouts, write in ((DENSE, LAYOUTS, write_dense), (MOE, EXPERT_LAYOUTS, write_moe),
                                      (CUT, LAYOUTS, write_dense)):
            folder = Path(place) / model
            write(folder)
            for dtype, head in (("float32", ""), ("bfloat16", ""), ("bfloat16", ", head float32")):
                with ray_session(None, 4):
                    for name, gaps, first in measured(folder, dtype, bool(head), layouts, rows, model):
                        tail = float(gaps.quantile(0.99))
                        print(f"| {model} | {dtype}{head} | {name} | {float(gaps.mean()):.1e} | {tail:.1e} | "
                              f"{float(gaps.max()):.1e} | {float((first.exp() - 1).abs().max()):.1e} |", flush=True)


def measured(folder: Path, dtype: str, wide: bool, layouts: dict[str, Parallel], rows: int,
             model: str) -> Iterator[tuple[str, torch.Tensor, torch.Tensor]]:
    """(layout, |log κ| of every token, log κ of every first token)."""
    reserved = reserve((Role(ROLLOUT, 1), Role(TRAIN, 2)))
    tokenizer, sampling = CharacterTokenizer(), TRUNCATED if model == CUT else SAMPLING
    engine = EngineSpec(str(folder), tokenizer, tokenizer.size, dtype, 256, SEED, routes=model == MOE, wide=wide,
                        candidates=model == CUT)
    rollouts = Rollouts(engine, 1, engine_spawner(engine, reserved), print, lambda *pushed: None)
    found: list[Trajectory] = []
    for name, parallel in layouts.items():
        ranks = started(folder, dtype, wide, parallel, reserved, sampling)
        trainer = ClusterTrainer(ranks, rollouts.load, dtype)
        if not found:
            trainer.deliver(0)
            prompts = torch.randint(1, tokenizer.size, (rows // 4, 12), generator=torch.Generator().manual_seed(SEED))
            requests = [Request(i, i, tuple(p), 4) for i, p in enumerate(prompts.tolist())]
            found = rollouts.sample(requests, sampling, batch=0)
        theirs = torch.tensor([x for r in found for x in r.logps], dtype=torch.float64)
        starts = torch.tensor([0, *(len(r.tokens) for r in found[:-1])]).cumsum(0)
        ways = {"": [replace(r, routes=(), candidates=()) for r in found]} | ({} if model == DENSE else {
            ", replayed": found})
        for way, mine in ways.items():
            ours = trainer.logprobs("current", mine, ("logp_current",), Cutting(None, True, True))["logp_current"]
            yield name + way, (ours - theirs).abs(), (ours - theirs)[starts]
        ranks.end()
    rollouts.close()


def started(folder: Path, dtype: str, wide: bool, parallel: Parallel, reserved: Reserved,
            sampling: SamplingOptions = SAMPLING) -> Ranks:
    """Ranks that hold the model; what they would train is of no matter here."""
    one, zero = a.Const(1.0), a.Const(0.0)
    nothing = Objective((), zero, None, zero, zero, (), (), (), zero, None, one, one, one, None, zero, ())
    sgd = OptimizerSpec("torch.optim:SGD", {"lr": 0.0, "momentum": 0.0, "weight_decay": 0.0}, None)
    align = {"replay_routing": True, "replay_candidates": True} | ({"head_dtype": "float32"} if wide else {})
    spec = RankSpec(parallel, dtype, sampling, PolicySpec(folder, nothing, sgd), align=align)
    ranks = Ranks("trainer", parallel.ranks, rank_spawner(spec, lambda number: reserved.strategy(TRAIN, number), 0))
    start([ranks])
    return ranks


def write_dense(folder: Path) -> None:
    """An untied Llama of the toy models' sizes, with weights eight times as large."""
    write_folder(dense(), folder)


def dense() -> Policy:
    """The model that `write_dense` writes."""
    policy, _ = load_policy("toy:llama-2x128", "float32", SEED, device="cpu")
    with torch.no_grad():
        for parameter in policy.parameters():
            if parameter.dim() == 2:
                parameter.mul_(8)
    return policy


def write_moe(folder: Path) -> None:
    """A mixture of experts of about the same size, as transformers writes it."""
    from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

    torch.manual_seed(SEED)
    Qwen3MoeForCausalLM(Qwen3MoeConfig(
        vocab_size=CharacterTokenizer().size, hidden_size=128, intermediate_size=256, moe_intermediate_size=128,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=32, num_experts=4,
        num_experts_per_tok=2, norm_topk_prob=True, max_position_embeddings=512, initializer_range=0.15,
        tie_word_embeddings=False)).save_pretrained(folder)


if __name__ == "__main__":
    main()
