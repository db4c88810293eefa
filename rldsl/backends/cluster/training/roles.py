"""From a recipe to the ranks that train it: their layout, their models as folders, their optimizers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rldsl.backends.cluster.judging.judges import Judges
from rldsl.backends.cluster.megatron.layout import parallel
from rldsl.backends.cluster.model_folder import Source, Start, source
from rldsl.backends.cluster.placement import Reserved
from rldsl.backends.cluster.stage_folder import critic_left
from rldsl.backends.cluster.weights import Weights
from rldsl.backends.local.decoder.trained_part import Part
from rldsl.backends.local.launch import optimizer_spec
from rldsl.backends.local.load_teachers import teaching
from rldsl.backends.local.training.optimizer import OptimizerSpec
from rldsl.backends.local.training.teachers import Teachers
from rldsl.compiler.graph import REFERENCE_WEIGHTS, TEACHER_WEIGHTS
from rldsl.compiler.plan import Plan
from rldsl.compiler.recipe import Recipe
from rldsl.compiler.roles import CRITIC, INITIAL, REFERENCE, TEACHER, TRAIN, Role, numbered
from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.runtime.prompts import Prompts
from rldsl.runtime.stages_data import sampling_options

from .frozen_ranks import FrozenRanks
from .rank import CriticSpec, PolicySpec, RankSpec, refuse
from .ranks import Ranks, spawner, start
from .trainer import ClusterTrainer

TRAINER = "trainer"
"""What messages call the ranks of the trained policy."""
ASKING = ("sample", "judge")
"""The kinds of nodes that no rank computes."""


@dataclass(frozen=True)
class Frozen:
    """The models beside the trained ones, where a formula reads them: {name: its folder}, and which of them teach;
    `critic` is the file of one that another stage left."""

    folders: Mapping[str, Path]
    teachers: Teachers[str] | None
    critic: Path | None


def frozen(plan: Plan, recipe: Recipe, root: Path, folder: Path, found: Source, data: Prompts,
           warm: Start | None) -> Frozen:
    """The frozen models of a run in `folder` whose policy begins as `found`; `warm` trains a teacher before the run.

    RecipeError RL321 or RL407 where one reads other tokens than the policy, RL407 where a row of the data names no
    teacher. Teachers of one name are one model.
    """
    settings, folders, teachers = recipe.settings.model, {}, None
    if _computed(plan, REFERENCE_WEIGHTS):
        folders[REFERENCE] = reference(plan, recipe, root, folder, found).folder
    if _computed(plan, TEACHER_WEIGHTS):
        models = tuple(dict.fromkeys(settings.teachers))
        named = dict(zip(models, numbered(TEACHER, len(models)), strict=True))
        teachers = Teachers(tuple(named[spec] for spec in settings.teachers), teaching(settings, data))
        folders |= {name: teacher(plan, spec, root, folder / name, found, warm).folder for spec, name in named.items()}
    start = recipe.settings.critic.start
    return Frozen(folders, teachers, start and critic_left(start, folder, root))


def _computed(plan: Plan, weights: str) -> bool:
    """Whether ranks compute with these weights; what is asked in texts, or begins responses, is elsewhere."""
    return any(node.kind not in ASKING for node in plan.graph.readers(weights))


def rank_specs(plan: Plan, recipe: Recipe, found: Source, others: Frozen,
               wanted: tuple[Role, ...]) -> dict[str, RankSpec]:
    """{role: what its ranks are built from}; a model without ranks of its own is in the trainer's. RecipeError RL401,
    RL402, RL406 for what they cannot do."""
    settings, counts = recipe.settings, {role.name: role.count for role in wanted}
    sample, critic = plan.graph.of("sample")[0], _critic(plan, recipe, found, others.critic)
    alike = frozenset({REFERENCE} if settings.model.reference == INITIAL else ())

    def built(role: str, **models: Any) -> RankSpec:
        spec = RankSpec(parallel(settings.cluster, counts[role], role), plan.resolved["dtype"],
                        sampling_options(sample), align=sample.options.get("align", {}), rounded=alike, **models)
        refuse(spec)
        return spec

    optim, folders = settings.optim, others.folders
    policy = PolicySpec(found.folder, plan.objective, _optimizer(recipe),
                        Part(optim.layers, optim.lora_rank, optim.lora_alpha), plan.seed)
    held = {name: folder for name, folder in folders.items() if name not in counts}
    taught = others.teachers if others.teachers and held.keys() >= set(others.teachers.models) else None
    specs = {TRAIN: built(TRAIN, policy=policy, critic=None if CRITIC in counts else critic, frozen=held,
                          teachers=taught)}
    if critic is not None and CRITIC in counts:
        specs[CRITIC] = built(CRITIC, critic=critic)
    return specs | {n: built(n, frozen={n: f}) for n, f in folders.items() if n in counts}


def start_trainer(specs: Mapping[str, RankSpec], reserved: Reserved, load: Callable[[int, Weights], str],
                  tell: Callable[[Diagnostic], None], teachers: Teachers[str] | None,
                  judges: Judges | None) -> ClusterTrainer:
    """Starts the ranks of every role in their reserved places. `load` has the engines that sample take over a version,
    `tell` hears of ranks that died and were started again; `judges` are asked for scores."""
    groups = {role: Ranks(TRAINER if role == TRAIN else role, spec.parallel.ranks,
                          spawner(spec, partial(reserved.strategy, role), reserved.gpus(role)))
              for role, spec in specs.items()}
    start(groups.values())
    apart = {role: FrozenRanks(ranks, tell) if specs[role].frozen else ranks
             for role, ranks in groups.items() if role != TRAIN}
    return ClusterTrainer(groups[TRAIN], load, specs[TRAIN].dtype, apart=apart, teachers=teachers, judges=judges)


def _optimizer(recipe: Recipe) -> OptimizerSpec | None:
    optim = recipe.settings.optim
    return optimizer_spec(optim.optimizer, optim.clip_grad) if optim.optimizer.trains() else None


def _critic(plan: Plan, recipe: Recipe, found: Source, start: Path | None) -> CriticSpec | None:
    if not plan.graph.node("update").options["critic"]:
        return None
    settings = recipe.settings
    optimizer = settings.critic.optimizer or settings.optim.optimizer
    return CriticSpec(found.folder, optimizer_spec(optimizer, settings.optim.clip_grad),
                      settings.critic.updates_per_actor, start)


def reference(plan: Plan, recipe: Recipe, root: Path, folder: Path, policy: Source) -> Source:
    """The reference of a run in `folder` whose policy begins as `policy`. Raises as `frozen`."""
    spec = recipe.settings.model.reference
    return policy if spec == INITIAL else _other(plan, spec, root, folder / REFERENCE, policy, "RL407", "reference",
                                                 None)


def teacher(plan: Plan, spec: str, root: Path, own: Path, policy: Source, warm: Start | None) -> Source:
    """A teacher, in the folder `own` where it has none itself. Raises as `frozen`."""
    return _other(plan, spec, root, own, policy, "RL321", "teacher", warm)


def _other(plan: Plan, spec: str, root: Path, own: Path, policy: Source, code: str, role: str,
           warm: Start | None) -> Source:
    found = source(spec, plan.resolved["dtype"], plan.seed, root, own, warm)
    if found.vocabulary != policy.vocabulary or found.tokenizer.eos != policy.tokenizer.eos:
        raise RecipeError([Diagnostic(
            code, f"the {role} {spec!r} has {found.vocabulary} token ids and ends {sorted(found.tokenizer.eos)}, the "
            f"policy {policy.vocabulary} and {sorted(policy.tokenizer.eos)}",
            why="a token id is another text for each of them, so their log-probs are of different events",
            fix=f"choose a {role} with the policy's tokenizer")])
    return found
