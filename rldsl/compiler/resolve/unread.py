"""Settings that are written and that this combination never reads (RL208): no option is without effect.

A setting that a recipe inherits and whose reader it replaced itself is left over, not wrong: it cannot be unwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rldsl.algebra.divergence import is_divergence
from rldsl.algebra.expr import Const, Var
from rldsl.algebra.grain import variables
from rldsl.algebra.variables import KL_EXACT, LOGP_REF, LOGP_TEACHER, MISMATCHED, PRETRAIN
from rldsl.axes.base import Source
from rldsl.axes.discover import AXES
from rldsl.axes.judging import ModelSource
from rldsl.axes.structure import Beginning
from rldsl.axes.traits import VALUES
from rldsl.compiler.formulas import formulas
from rldsl.compiler.recipe import Origin, Recipe, feedback_nodes
from rldsl.compiler.recorded import lacking

from .merge import ALONG
from .report import Report

DECIDING = (*AXES, "evaluate.tasks", "optim.updates_per_batch", "optim.epochs")
"""What may decide which metrics there are."""
STAGES = ("default", "recipe", "profile", ALONG, "pipeline", "--set")


@dataclass(frozen=True)
class Reader:
    """Who reads `settings` (a path, or a block with its dot), whether it is `there`, and what would be in words."""

    settings: str
    there: Callable[[], bool]
    decided_by: tuple[str, ...]
    would_read: str


def readers(recipe: Recipe) -> Iterator[Reader]:
    """The settings that not every recipe reads."""
    s = recipe.settings
    yield from _of_roles(recipe)
    yield from _scoring(recipe)
    yield Reader("evaluate.tasks", lambda: any(isinstance(n.choice, Source) for n in feedback_nodes(recipe.feedback)),
                 ("feedback",), "a source in the feedback that can score a sampled response")
    for name in ("every", "samples", "problems"):
        yield Reader(f"evaluate.{name}", lambda: bool(s.evaluate.tasks), ("evaluate.tasks",), "a task to evaluate")
    yield Reader("track.experiment", lambda: s.track.mlflow is not None, ("track.mlflow",),
                 "an MLflow server: track.mlflow")
    yield Reader("track.traces_every", lambda: s.track.traces is not None, ("track.traces",), "traces: track.traces")
    yield Reader("data.collect", lambda: _scored(recipe), ("feedback", "sampling"),
                 "a source in the feedback that scores responses which are sampled")
    yield Reader("optim.optimizer", lambda: _trained(recipe) or s.data.collect is not None, ("data.collect",),
                 "a critic with an optimizer of its own, or data.collect: as it is, nothing is trained")
    for name in ("schedule", "warmup_steps", "clip_grad", "updates_per_batch", "epochs"):
        yield Reader(f"optim.{name}", lambda: _trained(recipe), ("optim.optimizer",), "a policy or a critic to train")
    yield Reader("data.prompt", lambda: s.data.template is None, ("data.template",), "data without a template")
    for detector in s.health.detectors:
        lacks = next((words for m in detector.reads if (words := lacking(recipe, m))), None)
        yield Reader(f"health.{detector.name}", lambda lacks=lacks: lacks is None, DECIDING, lacks or "")
    yield Reader("optim.lora_alpha", lambda: s.optim.lora_rank is not None, ("optim.lora_rank",),
                 "a rank: optim.lora_rank")
    yield Reader("data.pretrain", lambda: _reads(recipe, PRETRAIN), ("gate",), "a term that reads pretraining texts")
    yield Reader("data.pretrain_texts", lambda: s.data.pretrain is not None, ("data.pretrain",), "texts: data.pretrain")


def _of_roles(recipe: Recipe) -> Iterator[Reader]:
    """The settings of the models beside the policy, and of the ranks that these have to themselves."""
    s = recipe.settings
    for settings in ("critic.", "cluster.critic"):
        yield Reader(settings, lambda: any(VALUES in n.choice.gives for n in recipe.nodes()), ("advantage",),
                     "an advantage that learns a value function")
    for path, also in (("model.reference", True), ("cluster.reference", False)):
        yield Reader(path, lambda also=also: _reads(recipe, LOGP_REF, KL_EXACT, MISMATCHED) or (
            also and _asked(recipe, "initial")), ("gate", "feedback", "advantage"), "a KL to the reference policy")
    for path in ("model.teachers", "model.teacher_warm_start"):
        yield Reader(path, lambda: _teacher(recipe) and bool(s.model.teachers),
                     ("gate", "feedback", "advantage", "sampling"),
                     "a term that reads a teacher in `teachers`, or responses that it begins")
    yield Reader("cluster.teacher", lambda: _scored_by_teacher(recipe) and bool(s.model.teachers),
                 ("gate", "feedback", "advantage"), "a term that reads a teacher in `teachers`")
    yield Reader("cluster.judge", lambda: any(isinstance(n.choice, (ModelSource, Beginning)) for n in recipe.nodes()),
                 ("feedback", "sampling"), "a source in the feedback that asks a model, or responses that one begins")
    yield Reader("model.teaching", lambda: _teacher(recipe) and len(s.model.teachers) > 1, ("model.teachers",),
                 "several models in `teachers`")


def _scoring(recipe: Recipe) -> Iterator[Reader]:
    """What some ways to score a response read."""
    s, functions = recipe.settings, [n for n in feedback_nodes(recipe.feedback)
                                     if isinstance(n.choice, Source) and not isinstance(n.choice, ModelSource)]
    yield Reader("cluster.reward", lambda: bool(functions), ("feedback",),
                 "a source in the feedback whose scores a function computes")
    for name in ("reward", "judge"):
        yield Reader(f"model.{name}", lambda name=name: _asked(recipe, name), ("feedback",),
                     f"a source in the feedback that asks the {name}")
    yield Reader("model.judge_warm_start", lambda: _asked(recipe, "reward") or (
        _asked(recipe, "judge") and s.model.judge != "policy"), ("feedback", "model.judge"),
                 "a reward model or a judge of its own")


def _trained(recipe: Recipe) -> bool:
    """Whether the policy or a critic is trained."""
    policy, critic = recipe.settings.optim.optimizer, recipe.settings.critic.optimizer
    values = any(VALUES in n.choice.gives for n in recipe.nodes())
    return policy is None or policy.trains() or (values and critic is not None and critic.trains())


def _scored(recipe: Recipe) -> bool:
    sources = any(isinstance(n.choice, Source) for n in feedback_nodes(recipe.feedback))
    return sources and recipe.sampling[0].choice.stored() is None


def _reads(recipe: Recipe, *quantities: Var) -> bool:
    return bool(_read(recipe) & {v.name for v in quantities})


def _asked(recipe: Recipe, role: str) -> bool:
    return any(isinstance(n.choice, ModelSource) and n.choice.asked().role == role
               for n in feedback_nodes(recipe.feedback))


def _teacher(recipe: Recipe) -> bool:
    begun = (n.choice.begin() for n in recipe.sampling if isinstance(n.choice, Beginning))
    return _scored_by_teacher(recipe) or any(b.policy == "teacher" for b in begun)


def _scored_by_teacher(recipe: Recipe) -> bool:
    return _reads(recipe, LOGP_TEACHER) or any(map(is_divergence, _read(recipe)))


def _read(recipe: Recipe) -> set[str]:
    ratio = recipe.ratio.choice.ratio() or Const(1.0)  # whether a gate can do without one is another rule's question
    return {v.name for n in recipe.nodes() for e in formulas(n.choice, ratio).values() for v in variables(e)}


def refuse_unread(recipe: Recipe, line: list[str], report: Report) -> None:
    """RL208 for each written setting or block without a reader; `line` names the recipe's ancestors, oldest first."""
    for reader in readers(recipe):
        written = {path: history[-1] for path, history in recipe.origins.items()
                   if _covers(reader.settings, path) and history and history[-1].span
                   and history[-1].how != ALONG}
        if not written or reader.there():
            continue
        idle = sorted(((last.span, path) for path, last in written.items() if _after(last, reader, recipe, line)),
                      key=lambda x: (x[0].file, x[0].line, x[0].column))
        for span, path in idle[:1]:
            name = path if len(idle) == 1 else reader.settings.removesuffix(".")
            report.add("RL208", f"`{name}` has no effect here", span, "nothing reads it",
                       also=tuple((other, "nor this") for other, _ in idle[1:]),
                       why="a setting that does nothing would be believed to do something",
                       fix=f"leave it out; what would read it is {reader.would_read}")


def _covers(settings: str, path: str) -> bool:
    """Whether a path is the setting, or in the block."""
    return path.startswith(settings) if settings.endswith(".") else path == settings


def _after(last: Origin, reader: Reader, recipe: Recipe, line: list[str]) -> bool:
    """Whether the setting was written no earlier than what decided that nobody reads it."""
    decided = [o for path in reader.decided_by for o in recipe.origins.get(path, ())]
    return all(_rank(last, line) >= _rank(o, line) for o in decided)


def _rank(origin: Origin, line: list[str]) -> tuple[int, int]:
    name = origin.recipe.partition(":")[0]
    return STAGES.index(origin.how), line.index(name) if name in line else -1
