"""Nodes that learn: constants fixed once per batch, then the batch cut by whole prompts into updates."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean

from rldsl.algebra.evaluate import Value
from rldsl.algebra.expr import PAIR, RESPONSE, TOKEN, UPDATE, Var, total
from rldsl.algebra.grain import variables
from rldsl.algebra.variables import ADVANTAGE, CORRECTION, MC_VALUE, REWARD, TOKEN_REWARD, WEIGHT
from rldsl.compiler.graph import PRETRAIN_TEXTS, VALUE_TARGET, Node
from rldsl.compiler.objective import Objective
from rldsl.diagnostics import Diagnostic

from .batch import Batch
from .equal_bits import require_equal_bits
from .errors import RunError
from .information import information
from .metrics import KEPT, LOSS
from .observed import observe
from .protocols import UpdateJob, UpdateOptions
from .run import Run, Settings
from .settle import carry, merged, settle, weigh, with_state
from .stages_data import cutting
from .structure import State, steps_of
from .trajectory import Trajectory
from .work import LEFT, RESPONSES, TRAINED, Work

CHECKED = (REWARD.name, TOKEN_REWARD.name, ADVANTAGE.name, VALUE_TARGET, CORRECTION.name)


def advantage(run: Run, work: Work, node: Node) -> None:
    """Rewards, filters, advantages and corrections over the whole batch."""
    before, scored = work.groups(), len(work.table.lengths)
    work.counts.update({"groups/kept": len(before)})
    work.tally.add(KEPT.name, scored, work.counts[RESPONSES])
    if not before:
        return
    table = with_state(run.objective, work.table, run.progress.carried)
    if work.baseline is not None:
        table = table.with_columns(greedy_reward=_greedy_reward(run, work.baseline, table))
    if work.probes is not None:
        table = table.with_columns(**{MC_VALUE.name: _continued_value(run, work, table)})
    settled = settle(run.objective, table)
    require_finite(settled.statistics, work, node.id)
    work.table, work.statistics = whole_pairs(run.objective, settled.batch), settled.statistics
    run.progress.carried = merged(run.progress.carried, carry(run.objective, settled.statistics))
    work.dropped(before, LEFT)
    for name, gone in settled.left.items():
        work.tally.add(f"left/{name}", gone, scored)
    rewarded = ADVANTAGE in variables(run.objective.policy)
    seen = observe(settled.statistics, run.graph.of("sample")[0].options["siblings"], rewarded)
    rows = [work.trajectories[i].tokens for i in settled.statistics.rows]
    told = information(settled.statistics.groups, rows, f"{run.settings.seed}/{work.batch}")
    for name, number in (seen | ({} if told is None else {"prompts/information": told})).items():
        work.tally.add(name, number)


def whole_pairs(objective: Objective, batch: Batch) -> Batch:
    """The batch without responses whose partner has left, where the objective compares partners."""
    if PAIR not in objective.grains():
        return batch
    sizes = Counter(batch.extra["pairs"])
    return batch.select([i for i, pair in enumerate(batch.extra["pairs"]) if sizes[pair] == 2])


def _greedy_reward(run: Run, baseline: Work, table: Batch) -> Value:
    """For each response the reward, shaping included, of the greedy response to its prompt."""
    compared = with_state(run.objective, baseline.table, run.progress.carried)
    rewards = table.math.numbers(compared.value(run.objective.reward, RESPONSE).data)
    of = dict(zip(compared.groups, rewards, strict=True))
    return Value(RESPONSE, table.math.column([of[g] for g in table.groups]))


def _continued_value(run: Run, work: Work, table: Batch) -> Value:
    """At each token the mean reward, shaping included, of the continuations from where its step begins."""
    probes = work.probes
    compared = with_state(run.objective, probes.table, run.progress.carried)
    rewards = table.math.numbers(compared.value(run.objective.reward, RESPONSE).data)
    found: dict[State, list[float]] = {}
    for i, reward in zip(compared.rows, rewards, strict=True):
        for state in probes.states[probes.trajectories[i].key]:
            found.setdefault(state, []).append(reward)
    numbers = []
    for i, labels in zip(table.rows, steps_of(table.extra), strict=True):
        values = [fmean(found[*work.trajectories[i].key, k]) for k in range(len(dict.fromkeys(labels)))]
        numbers += [values[k] for k in labels]
    return Value(TOKEN, table.math.column(numbers))


def require_finite(batch: Batch, work: Work, stage: str) -> None:
    """RunError RL601 for the first column that is not finite, naming its responses."""
    for name in CHECKED:
        if name not in batch.columns:
            continue
        column = batch.columns[name]
        if _finite(batch, name):
            continue
        numbers = batch.math.numbers(column.data)
        owner = batch.shape.index(TOKEN, RESPONSE) if column.grain == TOKEN else range(len(numbers))
        bad = dict.fromkeys(o for o, x in zip(owner, numbers, strict=True) if not math.isfinite(x))
        named = [work.trajectories[batch.rows[i]] for i in bad]
        raise RunError(Diagnostic(
            "RL601", f"{name} is not finite in {len(named)} of {len(batch.lengths)} responses (stage: {stage})",
            why=f"responses {', '.join(f'{t.group}.{t.sibling}' for t in named[:8])}; no optimizer step was taken",
            fix="look at these responses' scores in the journal"))


def update(run: Run, work: Work, node: Node) -> None:
    """Cuts the batch into updates, `epochs` times over, and takes one optimizer step for each; none where neither the
    policy nor a critic is trained."""
    groups = work.groups()
    if not groups:
        run.warn(Diagnostic("RL603", f"batch {work.batch} has no response to train on: no optimizer step is taken",
                            why="every response was unscored, filtered or dropped", severity="warning",
                            fix="look at the metrics responses/unscored, groups/kept and left/"))
        return
    options = node.options
    warm = run.progress.batch >= run.settings.critic_warmup or not options["critic"]
    policy = options["policy"] and warm
    if not policy and not options["critic"]:
        return
    require_equal_bits(run, work, node)
    factor = lr_factor(run.settings, run.progress.batch)
    seed = f"{run.settings.seed}/{work.batch}"
    for part in cuts(work.table, groups, options["updates_per_batch"], options["epochs"], seed):
        batch = weigh(run.objective, part)
        _require_finite_weight(batch)
        rows = [work.trajectories[i] for i in batch.rows]
        job = UpdateJob(rows, batch, update_options(node), factor, policy, options["critic"], options["value_clip"],
                        pretraining(run, node))
        work.tally.include(run.trainer.update(job))
        run.progress.updates += 1
    terms = [total for name, total in work.tally.means().items() if name.startswith("objective/")]
    if terms:
        work.tally.add(LOSS.name, -sum(terms))
    work.fates |= dict.fromkeys(groups, TRAINED)
    work.tally.add("lr", run.settings.lr * factor if policy else 0.0)


def pretraining(run: Run, node: Node) -> list[Trajectory]:
    """The texts of a second stream of data that belong to the next update, taken in order, round and round."""
    if PRETRAIN_TEXTS not in node.reads:
        return []
    count = node.options["pretrain_texts"]
    first = run.progress.updates * count
    texts = [run.pretrain[i % len(run.pretrain)] for i in range(first, first + count)]
    return [Trajectory(i, 0, i, ids[:1], ids[1:], (0.0,) * (len(ids) - 1), (0,) * (len(ids) - 1), "stop", "")
            for i, ids in enumerate(texts)]


def carry_on(run: Run, work: Work, node: Node) -> None:
    """What the trained batch decides about the next one; without a trained response everything stays."""
    if work.groups():
        after = carry(run.objective, with_state(run.objective, work.table, run.progress.carried), late=True)
        run.progress.carried = merged(run.progress.carried, after)


def update_options(node: Node) -> UpdateOptions:
    """How the node says its updates are computed."""
    o = node.options
    return UpdateOptions(tuple(o["wants"]), cutting(node), o["one_forward"], o["skip_zero_rows"])


def cuts(table: Batch, groups: Sequence[int], count: int, epochs: int, seed: str) -> Iterator[Batch]:
    """The updates of a batch: whole prompts, in an order that follows from the seed, in `count` parts whose sizes
    differ by at most one prompt. With fewer prompts than parts there are fewer updates."""
    positions: dict[int, list[int]] = {g: [] for g in groups}
    for i, group in enumerate(table.groups):
        positions[group].append(i)
    count = min(count, len(groups))
    for epoch in range(epochs):
        if count == 1:
            yield table
            continue
        order = list(groups)
        random.Random(f"updates/{seed}/{epoch}").shuffle(order)
        for k in range(count):
            part = order[k * len(order) // count:(k + 1) * len(order) // count]
            yield table.select([i for group in part for i in positions[group]])


def _finite(batch: Batch, name: str) -> bool:
    """Whether a column is finite throughout: its sum is, exactly then."""
    return math.isfinite(batch.math.numbers(batch.value(total(Var(name, batch.columns[name].grain), UPDATE)).data)[0])


def _require_finite_weight(batch: Batch) -> None:
    if not _finite(batch, WEIGHT.name):
        raise RunError(Diagnostic("RL601", "the weight of a token is not finite (stage: update)",
                                  why="a denominator is 0; no optimizer step was taken",
                                  fix="choose a reduction whose denominators count every response that it weighs"))


def lr_factor(settings: Settings, batch: int) -> float:
    """What multiplies the peak learning rate in a batch: linear warm-up, then constant, linear or cosine decay."""
    if batch < settings.warmup_steps:
        return (batch + 1) / settings.warmup_steps
    done = (batch - settings.warmup_steps) / max(1, settings.steps - settings.warmup_steps)
    match settings.lr_schedule:
        case "linear":
            return 1 - done
        case "cosine":
            return 0.5 * (1 + math.cos(math.pi * done))
    return 1.0
