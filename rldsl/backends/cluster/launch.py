"""From a plan to a run on a Ray cluster: vLLM engines that sample, Megatron ranks that train."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from rldsl.backends.cluster.judging.begun import Begun
from rldsl.backends.cluster.judging.judges import Judges
from rldsl.backends.cluster.judging.judges import spawner as judge_spawner
from rldsl.backends.cluster.judging.seat import SeatSpec
from rldsl.backends.cluster.judging.seats import seat
from rldsl.backends.cluster.megatron.layout import Parallel
from rldsl.backends.cluster.rollout.engine_process import spawner
from rldsl.backends.cluster.rollout.rollouts import Rollouts
from rldsl.backends.cluster.rollout.streams import EngineSpec
from rldsl.backends.cluster.training.layout_change import FOLDER, changed, rewritten, trained
from rldsl.backends.cluster.training.rank import RankSpec
from rldsl.backends.cluster.training.roles import frozen, rank_specs, start_trainer
from rldsl.backends.cluster.training.trainer import ClusterTrainer
from rldsl.backends.local.data import Model, evaluated, examples, pretraining, prompt_limit, training
from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.local.decoder.numerics import Numerics, numerics
from rldsl.backends.local.device import device_use
from rldsl.backends.local.formats.hf_weights import exported
from rldsl.backends.local.launch import (
    alone,
    pin_machine,
    restore,
    run_settings,
    scoring_pool,
    tell_dropped,
    tracing,
)
from rldsl.backends.local.load import load_policy
from rldsl.backends.local.stage import with_collected
from rldsl.backends.local.warm_start import warm_start
from rldsl.compiler.canonical import from_canonical
from rldsl.compiler.plan import Plan
from rldsl.compiler.recipe import Recipe
from rldsl.compiler.roles import JUDGE, LENT, POLICY, REWARD, ROLLOUT, TRAIN, Role, processes
from rldsl.runtime import checkpoint as checkpoints
from rldsl.runtime.control import terms
from rldsl.runtime.errors import RunError
from rldsl.runtime.health import watching
from rldsl.runtime.journal import Journal
from rldsl.runtime.ledger import Ledger
from rldsl.runtime.run import Observe, Progress, Run
from rldsl.runtime.stages_after import keep, untrained
from rldsl.runtime.usage import Usage

from .capability import refuse
from .memory import held
from .model_folder import Source, Start, require_cpu_heads, source
from .placement import Reserved, reserve
from .ray_session import ray_session
from .reward import RewardSite
from .reward import spawner as reward_spawner
from .room import require_memory
from .stage_folder import MODEL
from .weights import Weights, pack

RESTARTS = 3
"""Times that the ranks are started again in one session."""


@contextmanager
def open_run(plan: Plan, folder: Path, root: Path, observe: Observe, *, resume: bool,
             address: str | None = None) -> Iterator[Run]:
    """A run in `folder` on the Ray cluster at `address`, or on one that is started here and ends with it.

    As `rldsl.backends.local.launch.open_run`; besides, RunError RL606 where the cluster cannot hold the processes.
    """
    folder = folder.resolve()
    recipe = with_collected(from_canonical(plan.recipe), folder)
    refuse(recipe)
    pin_machine(folder, plan)
    observe("doing", {"node": "load the model", "batch": 0})
    wanted = _wanted(recipe, address)
    found = _policy(plan, recipe, root, folder, wanted)
    kept = checkpoints.newest(folder / "checkpoints") if resume else None
    run = _unopened(plan, recipe, folder, root, found, observe, fresh=kept is None)
    warm = _warm(recipe, root, recipe.settings.model.teacher_warm_start, Numerics())
    others = frozen(plan, recipe, root, folder, found, run.data, warm)
    specs = rank_specs(plan, recipe, found, others, wanted)
    asked = seat(plan, recipe, root, folder, found, warm, observe)
    with ExitStack() as opened:
        opened.enter_context(alone(folder))
        run.journal = opened.enter_context(Journal(folder))
        observe("doing", {"node": "start the cluster", "batch": 0})
        before = changed(kept, specs)
        opened.enter_context(ray_session(address, _processes(wanted, before)))
        kept = _brought_over(run, kept, specs, before, wanted)
        reserved = reserve(wanted)
        run.score = opened.enter_context(scoring_pool(plan, recipe, root, folder, **_scorers(wanted, reserved))).score
        judges = _judges(run, asked, reserved, opened)
        rollouts = _start_engines(run, _engine_spec(plan, recipe, found, wanted), reserved, opened, partial(
            start_trainer, specs, tell=run.warn, teachers=others.teachers, judges=judges), judges)
        if kept is None:
            _first(run, rollouts, plan, recipe, root)
        if resume:
            restore(run, run.trainer, kept)
            _settle(run, kept, before)
        else:
            tell_dropped(run, recipe.settings.data.train, prompt_limit(recipe, found))
        yield run


def _wanted(recipe: Recipe, address: str | None) -> tuple[Role, ...]:
    """The processes of a run. RunError RL606 where they are to be on this machine and cannot be."""
    wanted = processes(recipe)
    if address is None:
        require_memory(wanted)
    return wanted


def _policy(plan: Plan, recipe: Recipe, root: Path, folder: Path, wanted: tuple[Role, ...]) -> Source:
    """The folder of the policy as the run begins with it. RecipeError RL406 for heads that no engine computes."""
    settings = recipe.settings.model
    found = source(settings.start or settings.policy, plan.resolved["dtype"], plan.seed, root, folder / MODEL,
                   _warm(recipe, root, settings.warm_start, _how(plan)))
    if not any(role.gpus for role in wanted):
        require_cpu_heads(settings.policy, found)
    return found


def _first(run: Run, rollouts: Rollouts, plan: Plan, recipe: Recipe, root: Path) -> None:
    """Gives the engines the weights that a run begins with, and first those before a warm start, to be scored."""
    if recipe.settings.model.warm_start:
        _without_warm_start(run, rollouts, plan, recipe, root)
    run.fingerprint = run.trainer.deliver(0)


def _scorers(wanted: tuple[Role, ...], reserved: Reserved) -> dict[str, Any]:
    """How many scorers the cluster starts, and where; nothing where they are beside the driver."""
    return next(({"count": r.count, "site": RewardSite(reward_spawner(reserved))} for r in wanted if r.name == REWARD),
                {})


def _processes(wanted: tuple[Role, ...], before: Mapping[str, Parallel]) -> int:
    """The most that run at a time."""
    return max(sum(role.count for role in wanted), *(layout.ranks for layout in before.values()), 0)


def _brought_over(run: Run, kept: checkpoints.Checkpoint | None, specs: Mapping[str, RankSpec],
                  before: Mapping[str, Parallel], wanted: tuple[Role, ...]) -> checkpoints.Checkpoint | None:
    """The checkpoint as the run's layout can read it, where it is of another one."""
    if not before:
        return kept
    run.observe("doing", {"node": "change the layout", "batch": 0})
    gpus = next(role.gpus for role in wanted if role.name == TRAIN)
    found = rewritten(kept, specs, before, gpus, run.folder / FOLDER)
    now = {name: asdict(spec.parallel) for name, spec in trained(specs)}
    run.record("layout", step=kept.step, before={name: asdict(p) for name, p in before.items()}, now=now)
    return found


def _settle(run: Run, kept: checkpoints.Checkpoint | None, before: Mapping[str, Parallel]) -> None:
    """Keeps what was brought over as a checkpoint of the run's own layout: ranks that die go on from it."""
    if before:
        keep(run)
        shutil.rmtree(kept.folder)


def recovery(run: Run, rollouts: Rollouts, trainer: ClusterTrainer) -> Callable[[RunError], bool]:
    """What starts all ranks anew from the newest checkpoint after one of them has died. False where that is not what
    happened, where there is no checkpoint, or where it has happened too often."""
    restarts = 0

    def recover(error: RunError) -> bool:
        nonlocal restarts
        kept = checkpoints.newest(run.checkpoints)
        if trainer.alive() or kept is None or restarts == RESTARTS:
            return False
        restarts += 1
        run.warn(replace(error.diagnostic, severity="warning", fix="nothing to do, unless it happens again",
                         why=f"{error.diagnostic.why}; all ranks start again, from the checkpoint after batch "
                             f"{kept.step}"))
        rollouts.pause()
        rollouts.poll(0.0)
        trainer.start()
        restore(run, trainer, kept)
        run.fresh = False
        return True

    return recover


def _unopened(plan: Plan, recipe: Recipe, folder: Path, root: Path, found: Source, observe: Observe, *,
              fresh: bool) -> Run:
    """A run whose data is read and whose processes are not started."""
    data, held_out, settings = training(recipe, root, found), evaluated(recipe, root, found), recipe.settings
    return Run(folder, plan.objective, plan.graph, recipe.schedule.choice, terms(recipe), run_settings(recipe), None,
               None, data, held_out, None, None, Progress(Ledger(len(data), plan.seed)), observe, fresh,
               pretrain=pretraining(recipe, root, found),
               detectors=watching(settings.health.detectors), tracing=tracing(settings.track, found.tokenizer),
               usage=Usage(device_use))


def _judges(run: Run, asked: SeatSpec | None, reserved: Reserved, opened: ExitStack) -> Judges | None:
    """Starts the processes that are asked, where there are any; they come up while others do."""
    if asked is None:
        return None
    judges = Judges(reserved.count[JUDGE], judge_spawner(asked, reserved), run.warn, follows=POLICY in asked.sources)
    opened.callback(judges.close)
    return judges


def _start_engines(run: Run, spec: EngineSpec, reserved: Reserved, opened: ExitStack,
                   start: Callable[..., ClusterTrainer], judges: Judges | None) -> Rollouts:
    """Starts everything that samples and everything that trains; both come up at the same time, as `judges` do."""
    def pushed(version: int, weights: Weights, seconds: float) -> None:
        run.record("push", version=version, bytes=weights.manifest.bytes, seconds=seconds)
        if judges is not None:
            judges.follow(version, weights)

    run.observe("doing", {"node": "start the engines", "batch": 0})
    lent = reserved.count.get(LENT, 0)
    rollouts = Rollouts(spec, reserved.count[ROLLOUT] + lent, spawner(spec, reserved), run.warn, pushed, lent=lent)
    opened.callback(rollouts.close)
    trainer = start(reserved, rollouts.load)
    opened.callback(trainer.end)
    if judges is not None:
        judges.begin()
    run.rollout = rollouts if judges is None else Begun(rollouts, judges)
    run.trainer, run.recover = trainer, recovery(run, rollouts, trainer)
    run.usage.devices = lambda: {**device_use(), **held({ROLLOUT: rollouts.actors(), **trainer.actors()})}
    if run.schedule.overlaps() or run.schedule.cuts():
        run.stream, run.lend = rollouts, rollouts.lend
    return rollouts


def _without_warm_start(run: Run, rollouts: Rollouts, plan: Plan, recipe: Recipe, root: Path) -> None:
    """Records the held-out score of the weights that the warm start began with."""
    import ray

    dtype = plan.resolved["dtype"]
    policy, _ = load_policy(recipe.settings.model.policy, dtype, plan.seed, device="cpu", root=root)
    policy.numerics = _how(plan)
    manifest, flat = pack(exported(policy, used=True), dtype)
    rollouts.load(0, Weights(manifest, ray.put(flat)))
    untrained(run)


def _warm(recipe: Recipe, root: Path, steps: int, how: Numerics) -> Start | None:
    """What trains a model before the run, computing as `how` says, on problems that are set aside for it; None for no
    steps."""
    if not steps:
        return None

    def start(policy: Policy, tokenizer: Any) -> None:
        policy.numerics = how
        warm_start(policy, examples(recipe, root, Model(policy, tokenizer)), steps)

    return start


def _how(plan: Plan) -> Numerics:
    """How the policy computes in this run."""
    return numerics(plan.graph.of("sample")[0].options.get("align", {}))


def _engine_spec(plan: Plan, recipe: Recipe, found: Source, wanted: tuple[Role, ...]) -> EngineSpec:
    settings, dtype = recipe.settings, plan.resolved["dtype"]
    context = min(settings.model.context or found.context, found.context)
    asked = plan.graph.of("sample")[0].options.get("align", {})
    return EngineSpec(str(found.folder), found.tokenizer, found.vocabulary, dtype, context, plan.seed,
                      settings.cluster.rollout_tensor, any(role.gpus for role in wanted),
                      found.cache_bytes(getattr(torch, dtype).itemsize), asked.get("replay_routing", False),
                      asked.get("head_dtype") == "float32", recipe.schedule.choice.keeps_state(),
                      recipe.placement.choice.serves(), asked.get("replay_candidates", False))
