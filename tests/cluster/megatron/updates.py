"""Rows, objectives and updates of the tests, and the embedded backend's answer to them."""

from __future__ import annotations

from pathlib import Path

import torch

from rldsl.algebra import expr as a
from rldsl.algebra.evaluate import Value
from rldsl.algebra.variables import ADVANTAGE, LENGTH, LOGP, LOGP_OLD
from rldsl.backends.cluster.megatron.layout import Parallel
from rldsl.backends.cluster.training.rank import CriticSpec, PolicySpec, RankSpec
from rldsl.backends.local.decoder.architecture import from_config
from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.local.decoder.numerics import numerics
from rldsl.backends.local.decoder.trained_part import ALL, Part, restrict
from rldsl.backends.local.engine import LocalEngine
from rldsl.backends.local.formats.hf_folder import read_config
from rldsl.backends.local.formats.hf_weights import adopt
from rldsl.backends.local.training.optimizer import OptimizerSpec
from rldsl.backends.local.training.teachers import Teachers
from rldsl.backends.torch_math import TorchMath
from rldsl.compiler.objective import Named, Objective
from rldsl.compiler.roles import REFERENCE
from rldsl.runtime.batch import Batch
from rldsl.runtime.protocols import Cutting, UpdateJob, UpdateOptions
from rldsl.runtime.settle import weigh
from rldsl.runtime.trajectory import SamplingOptions, Trajectory

SEED = 11
"""Of the numbers that low-rank additions begin with."""
SAMPLING = SamplingOptions(0.8, 12)
SGD = OptimizerSpec("torch.optim:SGD", {"lr": 1.0, "momentum": 0.0, "weight_decay": 0.0}, None)
ADAMW = OptimizerSpec("torch.optim:AdamW", {"lr": 1e-4, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1}, 0.5)
RATIO = a.ratio_of(LOGP - LOGP_OLD)
CLIP = a.minimum(RATIO * ADVANTAGE, a.clip(RATIO, 0.8, 1.2) * ADVANTAGE)
SEQUENCE = a.ratio_of(a.mean(LOGP - LOGP_OLD, "response")) * ADVANTAGE
WHOLE = a.where(a.gt(a.sg(LOGP), a.mean(a.sg(LOGP), "update")), RATIO * ADVANTAGE, 0.0)
KL = Named("kl", -0.1 * (a.ratio_of(LOGP_OLD - LOGP) - 1 - LOGP_OLD + LOGP))
ONE_PIECE = Cutting(None, True, True)
ONE, ZERO = a.Const(1.0), a.Const(0.0)


def objective(policy: a.Expr = CLIP, regularisers: tuple[Named, ...] = (KL,),
              target: a.Expr | None = None) -> Objective:
    """w = 1 over all tokens of the update."""
    weight = a.where(a.gt(a.total(LENGTH, "update"), 0), ONE / a.total(LENGTH, "update"), 0.0)
    return Objective((), ZERO, None, ZERO, ZERO, (), (), (), ADVANTAGE, target, ONE, ONE, weight, RATIO, policy,
                     regularisers)


def made_rows(count: int = 7, vocabulary: int = 97, seed: int = 0) -> list[Trajectory]:
    """Ragged rows, three of a prompt; one response has a single token and one has none."""
    generator = torch.Generator().manual_seed(seed)

    def ids(n: int) -> tuple[int, ...]:
        return tuple(torch.randint(0, vocabulary, (n,), generator=generator).tolist())

    prompts = [ids(3 + 4 * g) for g in range(-(-count // 3))]
    lengths = [(5 * i) % 11 + 1 if i != 4 else 0 for i in range(count)]
    return [Trajectory(i // 3, i % 3, i // 3, prompts[i // 3], ids(n), (-1.0,) * n, (0,) * n, "stop", "")
            for i, n in enumerate(lengths)]


def job(made: Objective, rows: list[Trajectory], *, wants: tuple[str, ...] = ("logp_current",), seed: int = 1,
        cutting: Cutting = ONE_PIECE, zero: bool = False, old: torch.Tensor | None = None,
        **options) -> UpdateJob:
    """An update on rows, with constants drawn from a seed; `old` are log-probs to be near."""
    math, tokens = TorchMath(), sum(len(r.tokens) for r in rows)
    generator = torch.Generator().manual_seed(seed)

    def noise() -> torch.Tensor:
        return torch.randn(tokens, generator=generator, dtype=torch.float64)

    base = torch.full((tokens,), -3.0, dtype=torch.float64) if old is None else old
    column = {"advantage": noise(), "logp_old": base + 0.3 * noise(), "logp_rollout": base + 0.1 * noise(),
              "correction": torch.ones(tokens), "value_target": noise(), "values": 0.1 * noise()}
    batch = Batch.of([len(r.tokens) for r in rows], [r.group for r in rows],
                     {n: Value("token", math.column(c)) for n, c in column.items()}, math)
    options = {"lr_factor": 1.0, "policy": True, "critic": False, **options}
    return UpdateJob(rows, weigh(made, batch), UpdateOptions(wants, cutting, True, zero), **options)


def embedded(folder: Path, made: Objective, optimizer: OptimizerSpec, *,
             critic: tuple[OptimizerSpec, int] | None = None, reference: Path | None = None,
             teachers: Teachers | None = None, part: Part = ALL, weights: str | None = None,
             sampling: SamplingOptions = SAMPLING) -> LocalEngine:
    """The embedded backend with the weights of a folder, of which a part is trained, computing with rounded ones."""
    policy = load(folder)
    policy.numerics = numerics({"weights": weights})
    restrict(policy, part, SEED)
    return LocalEngine(policy, made, sampling, optimizer, seed=0, critic=critic,
                       reference=(lambda: load(reference)) if reference else None, teachers=teachers)


def spec_of(layout: Parallel, folder: Path, dtype: str, made: Objective, sampling: SamplingOptions,
            optimizer: OptimizerSpec, *, critic: tuple[OptimizerSpec, int] | None = None,
            reference: Path | None = None, frozen: dict[str, Path] | None = None, part: Part = ALL,
            weights: str | None = None, **options) -> RankSpec:
    """Ranks that train a part of the policy of a folder, which computes with weights in a format, with a critic that is
    (its optimizer, its steps) beside."""
    frozen = (frozen or {}) | ({REFERENCE: reference} if reference else {})
    options |= {"align": {"weights": weights}} if weights else {}
    return RankSpec(layout, dtype, sampling, PolicySpec(folder, made, optimizer, part, SEED),
                    critic and CriticSpec(folder, *critic), frozen, **options)


def load(folder: Path) -> Policy:
    """The policy of a folder, without a tokenizer."""
    from safetensors.torch import load_file

    policy = Policy(from_config(read_config(folder), str(folder)))
    adopt(policy, load_file(folder / "model.safetensors").__getitem__)
    return policy
