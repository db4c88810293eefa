"""From a plan to a run on this machine: model, data, scorers, engine, and the checkpoint to go on from."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rldsl.axes.base import Optimizer, Scorer
from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.local.decoder.numerics import numerics
from rldsl.backends.local.decoder.trained_part import Part, restrict
from rldsl.backends.local.formats.tokenizer import Tokenizer
from rldsl.backends.local.judging.load_judges import Judges, load_judges
from rldsl.backends.local.sampling.stream import LocalStream
from rldsl.backends.local.training.optimizer import OptimizerSpec
from rldsl.backends.local.training.teachers import Teachers
from rldsl.compiler.canonical import from_canonical
from rldsl.compiler.graph import REFERENCE_WEIGHTS
from rldsl.compiler.plan import Plan
from rldsl.compiler.recipe import Recipe
from rldsl.compiler.settings import Track
from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.runtime import checkpoint as checkpoints
from rldsl.runtime.control import terms
from rldsl.runtime.errors import RunError
from rldsl.runtime.folder import LOCK
from rldsl.runtime.health import watching
from rldsl.runtime.journal import Journal
from rldsl.runtime.ledger import Ledger
from rldsl.runtime.prompts import Prompts
from rldsl.runtime.protocols import TrainEngine
from rldsl.runtime.run import Observe, Progress, Run, Settings
from rldsl.runtime.scoring import ScoringPool
from rldsl.runtime.scoring_process import Site
from rldsl.runtime.stages_after import untrained
from rldsl.runtime.stages_data import sampling_options
from rldsl.runtime.traces import Tracing
from rldsl.runtime.usage import Usage

from .data import Model, evaluated, examples, pretraining, prompt_limit, training
from .device import device_use
from .engine import CRITIC, POLICY, LocalEngine
from .load import load_policy
from .load_teachers import load_teachers
from .refusal import refuse
from .stage import named_policy, take_over, with_collected
from .warm_start import warm_start

MACHINE = "machine.json"
SCORERS, SCORER_MEMORY = 2, 4 * 2**30
"""Scoring processes, and the address space each may use in bytes."""


@dataclass(frozen=True)
class Roles:
    """The frozen policies beside the trained one. Without a reference of its own, the run's beginning is one."""

    reference: Policy | None
    teachers: Teachers | None
    judges: Judges


@contextmanager
def open_run(plan: Plan, folder: Path, root: Path, observe: Observe, *, resume: bool) -> Iterator[Run]:
    """A run in `folder`, ready to be executed. With `resume` it goes on from its newest complete checkpoint, or
    from the beginning where it never came to write one.

    Paths in the recipe are relative to `root`. RecipeError for what is missing (RL407, RL408) or cannot run here
    (RL406), RunError RL609 where every checkpoint is damaged.
    """
    recipe = with_collected(from_canonical(plan.recipe), folder)
    refuse(recipe)
    pin_machine(folder, plan)
    settings = recipe.settings
    observe("doing", {"node": "load the model", "batch": 0})
    found = checkpoints.newest(folder / "checkpoints") if resume else None
    policy, tokenizer = _policy(plan, recipe, root, folder, fresh=found is None)
    model = Model(policy, tokenizer)
    data, held_out = training(recipe, root, model), evaluated(recipe, root, model)
    roles = _roles(plan, recipe, root, folder, model, data, observe)
    engine = _engine(plan, recipe, model, folder, roles)
    if settings.critic.start is not None and found is None:
        take_over(engine.critic, settings.critic.start, folder, CRITIC)
    schedule = recipe.schedule.choice
    progress = Progress(Ledger(len(data), plan.seed))
    with alone(folder), Journal(folder) as journal, scoring_pool(plan, recipe, root, folder) as pool:
        run = Run(folder, plan.objective, plan.graph, schedule, terms(recipe), run_settings(recipe), engine, engine,
                  data, held_out, pool.score, journal, progress, observe, fresh=found is None,
                  pretrain=pretraining(recipe, root, model), detectors=watching(settings.health.detectors),
                  tracing=tracing(settings.track, tokenizer), usage=Usage(device_use))
        if resume:
            restore(run, engine, found)
        else:
            tell_dropped(run, settings.data.train, prompt_limit(recipe, model))
        if found is None and settings.model.warm_start:
            observe("doing", {"node": "supervised warm start", "batch": 0})
            untrained(run)
            warm_start(policy, examples(recipe, root, model), settings.model.warm_start)
            run.rollout = run.trainer = _engine(plan, recipe, model, folder, roles)  # a critic copies the warm policy
        with _streaming(run):
            yield run


@contextmanager
def _streaming(run: Run) -> Iterator[None]:
    """Response by response, where the recipe acts on those in flight; else whole batches in turn."""
    if run.schedule.cuts() or run.terms.at_once is not None:
        with LocalStream(run.trainer.policy, run.trainer.seed) as stream:
            run.stream = stream
            yield
    else:
        yield


def _policy(plan: Plan, recipe: Recipe, root: Path, folder: Path, *, fresh: bool) -> tuple[Policy, Tokenizer]:
    """The policy as it computes in this run; a fresh one begins with what the stage before it left."""
    model = recipe.settings.model
    policy, tokenizer = load_policy(model.policy, plan.resolved["dtype"], plan.seed, root=root)
    policy.numerics = numerics(plan.graph.of("sample")[0].options.get("align", {}))
    if model.start is not None and fresh:
        take_over(policy, model.start, folder, POLICY)
    return policy, tokenizer


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keeps a second process out of the run's folder. RunError RL609 where one is at work there."""
    with open(folder / LOCK, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(Diagnostic("RL609", f"another process is training in {folder}",
                                      why="two writers would mix their journals and checkpoints",
                                      fix="wait for it, or end it first")) from None
        yield


def pin_machine(folder: Path, plan: Plan) -> None:
    """Notes what makes a run bit-equal, or restores it: the number of threads. RL609 where a resume cannot match."""
    file, here = folder / MACHINE, {"torch": torch.__version__, "cuda": torch.cuda.is_available()}
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"threads": torch.get_num_threads(), **here}), encoding="utf-8")
        return
    known = json.loads(file.read_text(encoding="utf-8"))
    torch.set_num_threads(known.pop("threads"))
    if known != here:
        raise RunError(Diagnostic("RL609", f"this run was made with {_told(known)}; here is {_told(here)}",
                                  why="the same numbers cannot be computed on", fix="resume where the run was started"))


def _told(machine: dict[str, Any]) -> str:
    return f"torch {machine['torch']} {'on CUDA' if machine['cuda'] else 'on the CPU'}"


def tell_dropped(run: Run, train: str, limit: int) -> None:
    """Warns of prompts that are left out, with their numbers."""
    sources = [(train, run.data), *((f"{name} (held out)", data) for name, data in run.held_out.items())]
    for name, data in sources:
        if data.dropped:
            run.warn(Diagnostic(
                "RL408", f"{data.dropped} of {data.dropped + len(data)} prompts of {name} are left out: they are "
                f"longer than {limit} tokens", severity="warning", why="data { too_long: drop } says so",
                fix="nothing to do, if these can be spared"))


def _roles(plan: Plan, recipe: Recipe, root: Path, folder: Path, model: Model, data: Prompts,
           observe: Observe) -> Roles:
    return Roles(_named_reference(plan, recipe, root, folder, model.policy),
                 load_teachers(plan, recipe, root, folder, model, data, observe),
                 load_judges(plan, recipe, root, observe))


def _named_reference(plan: Plan, recipe: Recipe, root: Path, folder: Path, policy: Policy) -> Policy | None:
    """A reference that is not the policy's own beginning. RecipeError RL407 where it reads other tokens."""
    spec = recipe.settings.model.reference
    if spec == "initial" or not plan.graph.readers(REFERENCE_WEIGHTS):
        return None
    found, _ = named_policy(spec, plan, root, folder)
    sizes = found.architecture.vocabulary, policy.architecture.vocabulary
    if sizes[0] != sizes[1]:
        raise RecipeError([Diagnostic(
            "RL407", f"the reference {spec!r} embeds {sizes[0]} token ids, the policy {sizes[1]}",
            why="a KL compares the probabilities of the same tokens", fix="use a reference with the same tokenizer")])
    return found.requires_grad_(False)


def _engine(plan: Plan, recipe: Recipe, model: Model, folder: Path, roles: Roles) -> LocalEngine:
    settings = recipe.settings
    part = Part(settings.optim.layers, settings.optim.lora_rank, settings.optim.lora_alpha)
    restrict(model.policy, part, plan.seed)
    critic = None
    if plan.graph.node("update").options["critic"]:
        optimizer = settings.critic.optimizer or settings.optim.optimizer
        critic = (optimizer_spec(optimizer, settings.optim.clip_grad), settings.critic.updates_per_actor)

    def reference() -> Policy:
        """The policy before the first update is what the first checkpoint holds; before there is one, it is the policy.
        """
        if roles.reference is not None:
            return roles.reference
        twin = Policy(model.policy.architecture, model.policy.compute, model.tokenizer).to(model.policy.device)
        restrict(twin, part, plan.seed)
        twin.numerics = model.policy.numerics
        store = folder / "checkpoints"
        first = store / "batch-000000" / POLICY
        written = checkpoints.exists(store)
        twin.load_state_dict(torch.load(first, map_location=model.policy.device, weights_only=True) if written
                             else model.policy.state_dict())
        return twin.requires_grad_(False)

    return LocalEngine(model.policy, plan.objective, sampling_options(plan.graph.of("sample")[0]),
                       optimizer_spec(settings.optim.optimizer, settings.optim.clip_grad), seed=plan.seed,
                       critic=critic, reference=reference, teachers=roles.teachers, judges=roles.judges)


def optimizer_spec(choice: Optimizer, clip_grad: float | None) -> OptimizerSpec:
    """How a recipe's optimizer is built, with the bound on the gradient norm."""
    target, arguments = choice.factory()
    return OptimizerSpec(target, arguments, clip_grad)


def tracing(track: Track, tokenizer: Tokenizer) -> Tracing | None:
    """Which episodes are written down, if any."""
    return None if track.traces is None else Tracing(track.traces, track.traces_every, tokenizer.decode)


def scoring_pool(plan: Plan, recipe: Recipe, root: Path, folder: Path, count: int = SCORERS,
                 site: Site | None = None) -> ScoringPool:
    """The processes that score responses: `count` of them, beside this one or at another `site`."""
    scoring = recipe.settings.feedback
    return ScoringPool([s.scorer for s in plan.objective.scores
                        if isinstance(s.scorer, Scorer) and not s.part], count, scoring.timeout, SCORER_MEMORY,
                       max_failed=scoring.max_failed, path=[str(root)], output=folder / "scorers.log", site=site)


def run_settings(recipe: Recipe) -> Settings:
    """The numbers of a recipe that the executor reads."""
    s = recipe.settings
    rate = s.optim.optimizer.factory()[1]["lr"]
    return Settings(s.data.prompts, s.budget.steps, rate, s.optim.schedule, s.optim.warmup_steps,
                    s.critic.warmup_steps, recipe.seed)


def restore(run: Run, engine: TrainEngine, found: checkpoints.Checkpoint | None) -> None:
    """Goes on from a checkpoint, or from the very beginning where the run ended before it wrote one."""
    if found is None:
        run.record("resume", step=-1, skipped=[])
        return
    with checkpoints.understood():
        engine.load(found.folder, found.state["version"])
        run.progress = Progress.from_json(found.state["progress"])
        run.fingerprint = found.state["fingerprint"]
    run.record("resume", step=found.step, skipped=[list(s) for s in found.skipped])
    for name, reason in found.skipped:
        run.warn(Diagnostic("RL609", f"the checkpoint {name} is passed over: {reason}", severity="warning",
                            fix="nothing to do: the batches after the one resumed from are computed again"))
