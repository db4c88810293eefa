"""From a typed recipe to the graph that a straightforward implementation would run.

Nothing is saved here: each policy, critic or reference that a choice mentions gets its own forward, also with a
coefficient of 0. The passes take away what the result does not need.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rldsl.algebra import variables as q
from rldsl.algebra.divergence import is_divergence
from rldsl.algebra.expr import Expr
from rldsl.algebra.grain import variables
from rldsl.algebra.text import to_data
from rldsl.axes.alignment import Alignment
from rldsl.axes.base import Sampler
from rldsl.axes.judging import Asked
from rldsl.axes.several import SeveralAnswers
from rldsl.axes.structure import Beginning, Dividing, Structured
from rldsl.axes.traits import ROLLOUT_LOGPS

from .facts import moves
from .formulas import LIVE, formulas
from .graph import (
    CARRIED,
    CORRECTION,
    CRITIC_WEIGHTS,
    JUDGE_WEIGHTS,
    PRETRAIN_TEXTS,
    PROMPTS,
    REFERENCE_WEIGHTS,
    REWARD_WEIGHTS,
    ROLLOUT_WEIGHTS,
    TEACHER_WEIGHTS,
    TRAJECTORIES,
    VALUE_TARGET,
    WEIGHTS,
    Graph,
    Node,
)
from .objective import Objective
from .recipe import Recipe

RECORDED = (q.LOGP_ROLLOUT.name, q.VERSION.name, q.TRUNCATED.name, q.LENGTH.name, q.LAST.name, q.RESPONSES.name,
            q.TOKENS.name)
"""What sampling itself leaves behind."""
CURRENT = (q.LOGP.name, q.ENTROPY.name, q.KL_EXACT.name, q.SQUARES.name)
"""What a forward of the current policy can give, divergences from a teacher beside; with gradient inside the update."""
FORWARDS = {"old": ((q.LOGP_OLD.name,), (WEIGHTS,)), "ref": ((q.LOGP_REF.name,), (REFERENCE_WEIGHTS,)),
            "teacher": ((q.LOGP_TEACHER.name,), (TEACHER_WEIGHTS,)),
            "mismatched": ((q.MISMATCHED.name,), (WEIGHTS, REFERENCE_WEIGHTS)),
            "current": (CURRENT, (WEIGHTS,))}
"""{policy: (quantities its forward gives, weights it reads)}; `current` before the update is the batch's start and
reads what it is compared with beside, and `mismatched` compares it there with the reference on responses to other
prompts."""
MADE = (q.ADVANTAGE.name, q.WEIGHT.name, q.CORRECTION.name, q.COUNTED.name, q.REWARD.name, q.TOKEN_REWARD.name,
        q.SCORES.name, q.CORRECT.name, q.VALUE.name, q.TRAINER_VERSION.name, q.MAX_TOKENS.name, LIVE.name,
        q.PRETRAIN.name)
"""What scoring, the critic and the stages of a batch add, or the compiler puts in."""
COMPARED = (q.GREEDY_REWARD.name, q.MC_VALUE.name)
"""What is read off the rewards of responses that are only scored, when advantages are taken."""
POLICY_WEIGHTS = {"current": ROLLOUT_WEIGHTS, "teacher": TEACHER_WEIGHTS}
"""The weights that write what responses begin with."""


def build(recipe: Recipe, objective: Objective) -> Graph:
    """The naive graph of a recipe."""
    early = names(n.expr for n in objective.keeps)
    asked = names(_mentioned(recipe))
    forwards = [*_forwards(recipe, asked, before_update(objective)), *_value(recipe, asked)]
    first = [n for n in forwards if set(n.writes) & expanded(objective, early)]
    later = [n for n in forwards if n not in first]
    return _aligned(recipe, Graph((
        _sample(recipe), *_judges(recipe, objective), _score(objective), *first, *_filters(recipe, objective),
        *_collect(recipe, objective), *later, _advantage(objective), _update(recipe, objective, asked),
        *_late(recipe, objective), *_after(recipe))))


def asked_of_engines(recipe: Recipe) -> dict[str, Any]:
    """What the recipe's alignment wants of everything that computes the policy."""
    found = [n.choice.engines() for n in recipe.distribution if isinstance(n.choice, Alignment)]
    return {option: value for each in found for option, value in each.items()}


def _aligned(recipe: Recipe, graph: Graph) -> Graph:
    """The graph whose nodes that compute the policy know what is asked of their engine."""
    asked = asked_of_engines(recipe)
    for node in graph.nodes if asked else ():
        if node.kind in ("sample", "logprob", "update"):
            graph = graph.change(node.id, options={"align": asked})
    return graph


def provided(name: str, sampler: Sampler) -> bool:
    """Whether some step of a batch writes a variable."""
    forwards = {given for gives, _ in FORWARDS.values() for given in gives}
    known = name in {*RECORDED, *MADE, *forwards, *sampler.provides()}
    return known or is_divergence(name) or name.startswith(("score.", CARRIED))


def names(expressions: Iterable[Expr | None]) -> frozenset[str]:
    """The names of all variables in some expressions."""
    return frozenset(v.name for e in expressions if e is not None for v in variables(e))


def before_update(objective: Objective) -> frozenset[str]:
    """The variables that are read before the update begins, corrections among them."""
    o = objective
    staged = [n.expr for n in (*o.keeps, *o.leaves_first, *o.leaves_later)]
    carried = [c.next for c in o.state if not c.late]
    return names([o.reward, o.token_reward, o.advantage, o.value_target, o.correction, o.counted, *staged, *carried])


def in_update(objective: Objective) -> frozenset[str]:
    """The variables that the update reads: its term, its regularisers and its weights."""
    o = objective
    return names([o.policy, o.weight, o.live, *(n.expr for n in o.regularisers)])


def expanded(objective: Objective, wanted: frozenset[str]) -> frozenset[str]:
    """`wanted` with the rewards replaced by what they are computed from."""
    for name, formula in ((q.TOKEN_REWARD.name, objective.token_reward), (q.REWARD.name, objective.reward)):
        if name in wanted:
            wanted = wanted - {name} | names([formula])
    return wanted


def _mentioned(recipe: Recipe) -> Iterator[Expr]:
    """Every formula of every choice as written, before any simplification."""
    ratio = recipe.ratio.choice.ratio()
    for node in recipe.nodes():
        yield from formulas(node.choice, ratio).values()


def _ordered(wanted: Iterable[str], order: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in order if name in set(wanted))


def _of_current(wanted: Iterable[str]) -> tuple[str, ...]:
    """What a forward of the current policy has to give."""
    return (*_ordered(wanted, CURRENT), *sorted(filter(is_divergence, wanted)))


def _compared_with(wants: Iterable[str]) -> tuple[str, ...]:
    """The weights that the current policy's quantities compare it with."""
    found = (REFERENCE_WEIGHTS,) if q.KL_EXACT.name in wants else ()
    return (*found, TEACHER_WEIGHTS) if any(map(is_divergence, wants)) else found


def _reads(wanted: frozenset[str], *also: str) -> tuple[str, ...]:
    return (TRAJECTORIES, *also, *sorted(wanted - {TRAJECTORIES, *also}))


def _sample(recipe: Recipe) -> Node:
    sampler = recipe.sampling[0].choice
    options = {**_plain(dataclasses.asdict(sampler)), "siblings": sampler.siblings(), "greedy": sampler.greedy(),
               "draws": math.prod(n.choice.draws() for n in recipe.sampling[1:])}
    recorded = [name for name in RECORDED if name != q.LOGP_ROLLOUT.name or ROLLOUT_LOGPS in sampler.gives]
    shape, begins = _shape(recipe), [n.choice.begin() for n in recipe.sampling if isinstance(n.choice, Beginning)]
    if shape:
        options["shape"] = shape
    extra = sorted(sampler.provides() - set(COMPARED))
    stored = sampler.stored()
    if isinstance(sampler, SeveralAnswers):
        options["answers"] = {"number": sampler.m, "delimiter": sampler.delimiter}
    if stored is not None:
        options["stored"] = _plain(dataclasses.asdict(stored))
    engine, reads = ("control", (PROMPTS,)) if stored else ("rollout", (PROMPTS, ROLLOUT_WEIGHTS))
    reads += tuple(dict.fromkeys(POLICY_WEIGHTS[b.policy] for b in begins))
    return Node("sample", "sample", reads, (TRAJECTORIES, *recorded, *extra), engine, options)


def _shape(recipe: Recipe) -> dict[str, Any]:
    """How responses share their beginnings, are cut and continued; empty where each is one answer to its prompt."""
    sampler, stages = recipe.sampling[0].choice, [n.choice for n in recipe.sampling[1:]]
    shape: dict[str, Any] = {}
    if isinstance(sampler, Structured):
        restart, branching = sampler.restart(), sampler.branching()
        shape = {"started": sampler.started(), "continuations": sampler.continuations(),
                 "forks": [dataclasses.asdict(fork) for fork in sampler.forks()]}
        if branching is not None:
            shape["branching"] = dataclasses.asdict(branching)
        if restart is not None:
            shape["restart"] = {"probes": restart.probes, "choose": to_data(restart.choose)}
    cuts = [cut for s in stages if isinstance(s, Dividing) and (cut := s.cut()) is not None]
    begins = [s.begin() for s in stages if isinstance(s, Beginning)]
    for name, found in (("cut", cuts), ("begin", begins)):
        if found:
            shape[name] = dataclasses.asdict(found[0])
    return {"siblings": sampler.siblings(), "started": sampler.siblings(), **shape} if shape else {}


ASKS = {"reward": REWARD_WEIGHTS, "judge": JUDGE_WEIGHTS, "policy": WEIGHTS, "initial": REFERENCE_WEIGHTS}
"""{role of a model that is asked: its weights}."""


def _judges(recipe: Recipe, objective: Objective) -> Iterator[Node]:
    """One node for each source that a model scores."""
    for s in objective.scores:
        if isinstance(s.scorer, Asked):
            yield Node(f"judge.{s.label}", "judge", (TRAJECTORIES, ASKS[s.scorer.role]), (f"score.{s.label}",), "train",
                       {**_cut(recipe), "label": s.label})


def _score(objective: Objective) -> Node:
    correct = (q.CORRECT.name,) if objective.correct is not None else ()
    judged = tuple(f"score.{s.label}" for s in objective.scores if isinstance(s.scorer, Asked))
    scores = tuple(f"score.{s.label}" for s in objective.scores if not isinstance(s.scorer, Asked))
    return Node("score", "score", (TRAJECTORIES, *judged), (*scores, q.SCORES.name, *correct), "control")


def _cut(recipe: Recipe) -> dict[str, Any]:
    """How a training-side pass is cut into micro-batches."""
    return {"micro_tokens": recipe.settings.cluster.micro_tokens, "share_prompts": False, "balance": False}


def _forwards(recipe: Recipe, asked: frozenset[str], early: frozenset[str]) -> Iterator[Node]:
    for policy, (gives, weights) in FORWARDS.items():
        current = policy == "current"
        wants = _of_current(asked & early) if current else _ordered(asked, gives)
        if wants:
            needed = (*weights, *_compared_with(wants)) if current else weights
            yield Node(f"logprob.{policy}", "logprob", (TRAJECTORIES, *needed), wants, "train",
                       {**_cut(recipe), "policy": policy, "wants": list(wants)})


def _value(recipe: Recipe, asked: frozenset[str]) -> Iterator[Node]:
    if q.VALUE.name in asked:
        yield Node("value", "value", (TRAJECTORIES, CRITIC_WEIGHTS), (q.VALUE.name,), "train",
                   _cut(recipe))


def _filters(recipe: Recipe, objective: Objective) -> Iterator[Node]:
    """One node a stage. `refill` names the node to go back to while prompts are missing."""
    filters = [n for n in recipe.sampling[1:] if n.choice.keeps() is not None]
    for index, (node, keep) in enumerate(zip(filters, objective.keeps, strict=True)):
        options = {"stage": node.name, "index": index, "refill": "sample", "max_rounds": node.choice.rounds(),
                   "exhausted": node.choice.when_exhausted()}
        reads = _reads(expanded(objective, names([keep.expr])))
        yield Node(f"filter.{index + 1}", "filter", reads, (TRAJECTORIES,), "control", options)


def _collect(recipe: Recipe, objective: Objective) -> Iterator[Node]:
    """Where verified responses are kept as a data set."""
    most = recipe.settings.data.collect
    if most is not None:
        read = q.SCORES.name if objective.correct is None else q.CORRECT.name
        yield Node("collect", "collect", (TRAJECTORIES, read), (), "control", {"most": most})


def _advantage(objective: Objective) -> Node:
    target = (VALUE_TARGET,) if objective.value_target is not None else ()
    counted = (q.COUNTED.name,) if objective.counted is not None else ()
    compared = tuple(name for name in COMPARED if name in objective.reads())
    written = (*compared, q.REWARD.name, q.TOKEN_REWARD.name, q.ADVANTAGE.name, CORRECTION, *counted, *target)
    return Node("advantage", "advantage", _advantage_reads(objective), written, "control")


def _advantage_reads(o: Objective) -> tuple[str, ...]:
    own = names([o.reward, o.token_reward, o.advantage, o.value_target, o.correction, o.counted,
                 *(n.expr for n in (*o.leaves_first, *o.leaves_later)), *(c.next for c in o.state if not c.late)])
    return _reads(own - {*COMPARED, q.REWARD.name, q.TOKEN_REWARD.name, q.ADVANTAGE.name})


def _update(recipe: Recipe, objective: Objective, asked: frozenset[str]) -> Node:
    optim, critic = recipe.settings.optim, objective.value_target is not None
    options = {**_cut(recipe), "updates_per_batch": optim.updates_per_batch, "epochs": optim.epochs,
               "wants": list(_of_current({q.LOGP.name, *asked})), "one_forward": False,
               "skip_zero_rows": False, "policy": moves(recipe), "critic": critic,
               "value_clip": recipe.settings.critic.value_clip if critic else None}
    if q.PRETRAIN.name in in_update(objective):
        options["pretrain_texts"] = recipe.settings.data.pretrain_texts
    written = (WEIGHTS, CRITIC_WEIGHTS) if critic else (WEIGHTS,)
    return Node("update", "update", _update_reads(objective, options), written, "train", options)


def _update_reads(objective: Objective, options: Mapping[str, Any]) -> tuple[str, ...]:
    models = [WEIGHTS, *_compared_with(options["wants"])]
    own = in_update(objective) - {*options["wants"], q.PRETRAIN.name} | {CORRECTION}
    if q.PRETRAIN.name in in_update(objective):
        models.append(PRETRAIN_TEXTS)
    if options["critic"]:
        models.append(CRITIC_WEIGHTS)
        own |= {VALUE_TARGET} if options["value_clip"] is None else {VALUE_TARGET, q.VALUE.name}
    return _reads(own, *models)


def _late(recipe: Recipe, objective: Objective) -> Iterator[Node]:
    """What is carried on once the batch is trained, and the forward of the new policy that it reads."""
    read = names(c.next for c in objective.state if c.late)
    wants = _of_current(read)
    if wants:
        yield Node("logprob.after", "logprob", (TRAJECTORIES, WEIGHTS, *_compared_with(wants)), wants, "train",
                   {**_cut(recipe), "policy": "current", "wants": list(wants)})
    if read:
        yield Node("carry", "carry", _reads(read), (), "control")


def rewire(graph: Graph, objective: Objective) -> Graph:
    """The graph with the reads of each node taken from the objective as it is now."""
    update = graph.node("update")
    wants = [q.LOGP.name, *(w for w in update.options["wants"] if w in in_update(objective) and w != q.LOGP.name)]
    options = {**update.options, "wants": wants}
    graph = graph.change("advantage", reads=_advantage_reads(objective))
    return graph.change("update", reads=_update_reads(objective, options), options=options)


def _after(recipe: Recipe) -> Iterator[Node]:
    evaluate = recipe.settings.evaluate
    yield Node("publish", "publish", (WEIGHTS,), (ROLLOUT_WEIGHTS,), "train",
               {"shared": recipe.placement.choice.shared()})
    if evaluate.tasks:
        tasks = [{"name": t.name, "samples": t.samples or evaluate.samples} for t in evaluate.tasks]
        yield Node("evaluate", "evaluate", (ROLLOUT_WEIGHTS,), ("evaluation",), "rollout",
                   {"every": evaluate.every, "problems": evaluate.problems, "tasks": tasks})
    yield Node("checkpoint", "checkpoint", (WEIGHTS,), (), "control", {"every": recipe.settings.track.checkpoint_every})


def _plain(value: Any) -> Any:
    """Parameters as JSON data."""
    match value:
        case dict():
            return {k: _plain(v) for k, v in value.items()}
        case list() | tuple():
            return [_plain(v) for v in value]
    return value
