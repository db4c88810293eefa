"""From a recipe to the ranks that train it: their layout, their models as folders, their optimizers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rldsl.backends.local.launch import optimizer_spec
from rldsl.backends.local.train_optimizer import OptimizerSpec
from rldsl.compiler.graph import REFERENCE_WEIGHTS, TEACHER_WEIGHTS
from rldsl.compiler.plan import Plan
from rldsl.compiler.recipe import Recipe
from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.runtime.stages_data import sampling_options

from .megatron_layout import parallel
from .model_folder import Source, Start, source
from .placement import TRAIN, Reserved, Role
from .rank import RankSpec, refuse
from .ranks import Ranks, spawner
from .stage_folder import critic_left
from .trainer import ClusterTrainer
from .weights import Weights

REFERENCE, TEACHER = "reference", "teacher"
"""The run's own folders for frozen models that are no folders, or are trained before the run."""


@dataclass(frozen=True)
class Frozen:
    """The folders of the models beside the trained one, where a formula reads them; `critic` is the file of one that
    another stage left."""

    reference: Path | None
    teacher: Path | None
    critic: Path | None


def frozen(plan: Plan, recipe: Recipe, root: Path, folder: Path, found: Source, warm: Start | None) -> Frozen:
    """The frozen models of a run in `folder` whose policy begins as `found`; `warm` trains a teacher before the run.
    RecipeError RL321 or RL407 where one reads other tokens than the policy."""
    settings, reference, teacher = recipe.settings.model, None, None
    if plan.graph.readers(REFERENCE_WEIGHTS):
        reference = found if settings.reference == "initial" else _other(
            plan, settings.reference, root, folder / REFERENCE, found, "RL407", "reference", None)
    if plan.graph.readers(TEACHER_WEIGHTS):
        teacher = _other(plan, settings.teachers[0], root, folder / TEACHER, found, "RL321", "teacher", warm)
    start = recipe.settings.critic.start
    return Frozen(reference and reference.folder, teacher and teacher.folder,
                  start and critic_left(start, folder, root))


def rank_spec(plan: Plan, recipe: Recipe, found: Source, others: Frozen, wanted: tuple[Role, ...]) -> RankSpec:
    """What every rank is built from. RecipeError RL401, RL406 for what they cannot do."""
    settings = recipe.settings
    ranks = next(role.count for role in wanted if role.name == TRAIN)
    sample = plan.graph.of("sample")[0]
    spec = RankSpec(
        parallel(settings.cluster, ranks), found.folder, plan.resolved["dtype"], plan.objective,
        sampling_options(sample), _optimizer(recipe), _critic(plan, recipe), others.critic, others.reference,
        others.teacher, sample.options.get("align", {}))
    refuse(spec)
    return spec


def start_trainer(spec: RankSpec, reserved: Reserved, load: Callable[[int, Weights], str]) -> ClusterTrainer:
    """Starts the ranks in their reserved places. `load` has the engines that sample take over a version."""
    gpus = reserved.gpus(TRAIN)
    ranks = Ranks(spec.parallel.ranks, spawner(spec, lambda number: reserved.strategy(TRAIN, number), gpus))
    return ClusterTrainer(ranks, load, spec.dtype)


def _optimizer(recipe: Recipe) -> OptimizerSpec | None:
    optim = recipe.settings.optim
    return optimizer_spec(optim.optimizer, optim.clip_grad) if optim.optimizer.trains() else None


def _critic(plan: Plan, recipe: Recipe) -> tuple[OptimizerSpec, int] | None:
    if not plan.graph.node("update").options["critic"]:
        return None
    settings = recipe.settings
    optimizer = settings.critic.optimizer or settings.optim.optimizer
    return optimizer_spec(optimizer, settings.optim.clip_grad), settings.critic.updates_per_actor


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
