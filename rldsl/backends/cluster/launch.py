"""From a plan to a run on a Ray cluster: vLLM engines that sample, Megatron ranks that train."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from rldsl.backends.local.data import Model, evaluated, examples, prompt_limit, training
from rldsl.backends.local.launch import alone, pin_machine, restore, run_settings, scoring_pool, tell_dropped
from rldsl.backends.local.model import Policy
from rldsl.backends.local.warm_start import warm_start
from rldsl.compiler.canonical import from_canonical
from rldsl.compiler.plan import Plan
from rldsl.compiler.recipe import Recipe
from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.runtime import checkpoint as checkpoints
from rldsl.runtime.journal import Journal
from rldsl.runtime.ledger import Ledger
from rldsl.runtime.run import Observe, Progress, Run

from .capability import lacks
from .engine_process import spawner
from .model_folder import Source, require_cpu_heads, source
from .placement import Reserved, reserve, roles
from .publishing import Exporter, Publisher
from .ray_session import ray_session
from .rollouts import Rollouts
from .streams import EngineSpec

MODEL = "model"
"""The run's own model folder, where the recipe's model is none or is trained before the run."""


@contextmanager
def open_run(plan: Plan, folder: Path, root: Path, observe: Observe, *, resume: bool,
             address: str | None = None) -> Iterator[Run]:
    """A run in `folder` on the Ray cluster at `address`, or on one that is started here and ends with it.

    As `rldsl.backends.local.launch.open_run`; besides, RunError RL606 where the cluster cannot hold the processes.
    """
    recipe = from_canonical(plan.recipe)
    refuse(recipe)
    pin_machine(folder, plan)
    observe("doing", {"node": "load the model", "batch": 0})
    found = source(recipe.settings.model.policy, plan.resolved["dtype"], plan.seed, root, folder / MODEL,
                   _warm(recipe, root))
    wanted = roles(recipe)
    gpu = any(role.gpus for role in wanted)
    if not gpu:
        require_cpu_heads(recipe.settings.model.policy, found)
    model = Model(found.tokenizer, found.context)
    data, held_out = training(recipe, root, model), evaluated(recipe, root, model)
    kept = checkpoints.newest(folder / "checkpoints") if resume else None
    schedule = recipe.schedule.choice
    progress = Progress(Ledger(len(data), plan.seed), schedule=schedule.initial())
    observe("doing", {"node": "start the cluster", "batch": 0})
    with (alone(folder), Journal(folder) as journal, scoring_pool(plan, recipe, root, folder) as pool,
          ray_session(address, sum(role.count for role in wanted))):
        reserved = reserve(wanted)
        run = Run(folder, plan.objective, plan.graph, schedule, run_settings(recipe), None, None, data, held_out,
                  pool.score, journal, progress, observe, fresh=kept is None)
        observe("doing", {"node": "start the engines", "batch": 0})
        spec = _engine_spec(plan, recipe, found, gpu)
        rollouts = Rollouts(spec, wanted[0].count, spawner(spec, reserved), run.warn)
        trainer = build_trainer(plan, recipe, found, reserved, folder)
        run.rollout, run.trainer = rollouts, Publisher(trainer, rollouts, _journalled(run))
        if kept is None:
            run.fingerprint = run.trainer.first()
        if resume:
            restore(run, run.trainer, kept)
        else:
            tell_dropped(run, recipe.settings.data.train, prompt_limit(recipe, model.context))
        try:
            yield run
        finally:
            rollouts.close()


def refuse(recipe: Recipe) -> None:
    """RecipeError RL406 for what these engines cannot do."""
    needs = lacks(recipe)
    if needs:
        raise RecipeError([Diagnostic(
            "RL406", f"the cluster backend cannot run `{recipe.name}`: {'; '.join(needs)}",
            why="what an engine cannot do would be left out silently",
            fix="choose what it can, or run the recipe in one process: cluster { local }")])


def build_trainer(plan: Plan, recipe: Recipe, found: Source, reserved: Reserved, folder: Path) -> Exporter:
    """The ranks that train, in their reserved places."""
    from .trainer import start_trainer

    return start_trainer(plan, recipe, found, reserved, folder)


def _warm(recipe: Recipe, root: Path) -> Callable[[Policy, object], None] | None:
    """What trains the policy before the run, on problems that are set aside for it."""
    steps = recipe.settings.model.warm_start
    if not steps:
        return None
    return lambda policy, tokenizer: warm_start(
        policy, examples(recipe, root, Model(tokenizer, policy.architecture.context)), steps)


def _engine_spec(plan: Plan, recipe: Recipe, found: Source, gpu: bool) -> EngineSpec:
    settings, dtype = recipe.settings, plan.resolved["dtype"]
    context = min(settings.model.context or found.context, found.context)
    return EngineSpec(str(found.folder), found.tokenizer, found.vocabulary, dtype, context, plan.seed,
                      settings.cluster.rollout_tensor, gpu, found.cache_bytes(getattr(torch, dtype).itemsize))


def _journalled(run: Run) -> Callable[[int, int, float], None]:
    def pushed(version: int, size: int, seconds: float) -> None:
        run.record("push", version=version, bytes=size, seconds=seconds)

    return pushed
