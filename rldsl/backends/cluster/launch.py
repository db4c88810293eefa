"""From a plan to a run on a Ray cluster: vLLM engines that sample, Megatron ranks that train."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import torch

from rldsl.backends.local.data import Model, evaluated, examples, prompt_limit, training
from rldsl.backends.local.launch import (
    alone,
    pin_machine,
    restore,
    run_settings,
    scoring_pool,
    tell_dropped,
    tracing,
)
from rldsl.backends.local.model import Policy
from rldsl.backends.local.warm_start import warm_start
from rldsl.compiler.canonical import from_canonical
from rldsl.compiler.plan import Plan
from rldsl.compiler.recipe import Recipe
from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.runtime import checkpoint as checkpoints
from rldsl.runtime.control import terms
from rldsl.runtime.health import watching
from rldsl.runtime.journal import Journal
from rldsl.runtime.ledger import Ledger
from rldsl.runtime.protocols import TrainEngine
from rldsl.runtime.run import Observe, Progress, Run

from .capability import lacks
from .engine_process import spawner
from .model_folder import Source, require_cpu_heads, source
from .placement import ROLLOUT, Reserved, Role, reserve, roles
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
    if not any(role.gpus for role in wanted):
        require_cpu_heads(recipe.settings.model.policy, found)
    kept = checkpoints.newest(folder / "checkpoints") if resume else None
    run = _unopened(plan, recipe, folder, root, found, observe, fresh=kept is None)
    with ExitStack() as opened:
        opened.enter_context(alone(folder))
        run.journal = opened.enter_context(Journal(folder))
        run.score = opened.enter_context(scoring_pool(plan, recipe, root, folder)).score
        observe("doing", {"node": "start the cluster", "batch": 0})
        opened.enter_context(ray_session(address, sum(role.count for role in wanted)))
        _start_engines(run, plan, recipe, found, wanted, opened)
        if resume:
            restore(run, run.trainer, kept)
        else:
            tell_dropped(run, recipe.settings.data.train, prompt_limit(recipe, found))
        run.fingerprint = send(run, 0 if kept is None else kept.state["version"])
        yield run


def refuse(recipe: Recipe) -> None:
    """RecipeError RL406 for what these engines cannot do."""
    if needs := lacks(recipe):
        raise RecipeError([Diagnostic(
            "RL406", f"the cluster backend cannot run `{recipe.name}`: {'; '.join(needs)}",
            why="what an engine cannot do would be left out silently",
            fix="choose what it can, or run the recipe in one process: cluster { local }")])


def build_trainer(plan: Plan, recipe: Recipe, found: Source, reserved: Reserved, folder: Path) -> TrainEngine:
    """The ranks that train, in their reserved places."""
    from .trainer import start_trainer

    return start_trainer(plan, recipe, found, reserved, folder)


def send(run: Run, version: int) -> str:
    """Sends the trainer's weights to the engines as `version`, which counts once all have proved that they hold them;
    the fingerprint. The journal has the bytes, and the seconds up to the last proof."""
    found = run.rollout.load(version, run.trainer.export())
    size, seconds = run.rollout.pushed
    run.record("push", version=version, bytes=size, seconds=seconds)
    return found


def _unopened(plan: Plan, recipe: Recipe, folder: Path, root: Path, found: Source, observe: Observe, *,
              fresh: bool) -> Run:
    """A run whose data is read and whose processes are not started."""
    data, held_out, settings = training(recipe, root, found), evaluated(recipe, root, found), recipe.settings
    return Run(folder, plan.objective, plan.graph, recipe.schedule.choice, terms(recipe), run_settings(recipe), None,
               None, data, held_out, None, None, Progress(Ledger(len(data), plan.seed)), observe, fresh,
               detectors=watching(settings.health.detectors), tracing=tracing(settings.track, found.tokenizer))


def _start_engines(run: Run, plan: Plan, recipe: Recipe, found: Source, wanted: tuple[Role, ...],
                   opened: ExitStack) -> None:
    """Starts everything that samples and everything that trains; both come up at the same time."""
    reserved = reserve(wanted)
    run.observe("doing", {"node": "start the engines", "batch": 0})
    spec = _engine_spec(plan, recipe, found, gpu=any(role.gpus for role in wanted))
    engines = next(role.count for role in wanted if role.name == ROLLOUT)
    rollouts = Rollouts(spec, engines, spawner(spec, reserved), run.warn)
    opened.callback(rollouts.close)
    run.rollout, run.trainer = rollouts, build_trainer(plan, recipe, found, reserved, run.folder)
    run.push = lambda: send(run, rollouts.version + 1)


def _warm(recipe: Recipe, root: Path) -> Callable[[Policy, object], None] | None:
    """What trains the policy before the run, on problems that are set aside for it."""
    steps = recipe.settings.model.warm_start
    if not steps:
        return None
    return lambda policy, tokenizer: warm_start(policy, examples(recipe, root, Model(policy, tokenizer)), steps)


def _engine_spec(plan: Plan, recipe: Recipe, found: Source, *, gpu: bool) -> EngineSpec:
    settings, dtype = recipe.settings, plan.resolved["dtype"]
    context = min(settings.model.context or found.context, found.context)
    return EngineSpec(str(found.folder), found.tokenizer, found.vocabulary, dtype, context, plan.seed,
                      settings.cluster.rollout_tensor, gpu, found.cache_bytes(getattr(torch, dtype).itemsize))
