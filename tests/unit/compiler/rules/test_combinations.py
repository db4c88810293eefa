"""Combinations that no rule refuses can be compiled and have finite numbers; those refused say so without failing."""

import random
from dataclasses import replace

import pytest

from rldsl.algebra.expr import STATE, STEP, TURN
from rldsl.axes import base, discover
from rldsl.axes.structure import Dividing
from rldsl.axes.traits import CONTINUED, MULTI_TURN, STEPS
from rldsl.compiler.check import check
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.facts import divided, giving, units
from rldsl.compiler.objective import build
from rldsl.compiler.recipe import Node, Sum
from tests.conformance.harness import finite, random_batch, run

from ..hand_made import HERE, grpo, node, with_optim

COMBINATIONS = 300


def options(axis, role):
    """Every choice of a role with the parameters of each of its examples."""
    found = []
    for name in discover.names(axis):
        cls = discover.find(axis, name)
        if issubclass(cls, role):
            ways = [e.params for e in discover.examples(axis, name)] or [{f: 1 for f in cls.__dataclass_fields__}]
            found += [Node(cls(**params), HERE, dict.fromkeys(params, HERE)) for params in ways]
    return found


def draw(seed):
    """A random choice on every axis, or now and then the plain one, so that not everything clashes."""
    pick, plain = random.Random(seed), grpo()
    one = lambda axis, role: pick.choice(options(axis, role))  # noqa: E731
    some = lambda axis, role: tuple(one(axis, role) for _ in range(pick.choice((0, 0, 1, 2))))  # noqa: E731
    often = lambda axis, role, usual: one(axis, role) if pick.random() < 0.5 else usual  # noqa: E731
    extra = [*some("feedback", base.Shaping), *some("feedback", base.RewardFilter),
             *some("feedback", (base.Wrapping, base.FailureRule))]
    source = often("feedback", base.Source, plain.feedback)
    recipe = grpo(
        feedback=Sum((source, *extra)) if extra else source,
        sampling=(often("sampling", base.Sampler, plain.sampling[0]), *some("sampling", base.SamplingStage)[:1]),
        advantage=(one("advantage", base.Estimator),), ratio=often("ratio", base.Ratio, plain.ratio),
        gate=often("gate", base.Gate, plain.gate),
        regularisers=some("gate", base.Regulariser), reduction=one("reduction", base.Reduction),
        distribution=(one("distribution", base.Distribution),), schedule=often("system", base.Schedule, plain.schedule),
        placement=often("system", base.Placement, plain.placement))
    recipe = with_optim(recipe, updates_per_batch=pick.choice((1, 2)))
    return completed(recipe) if pick.random() < 0.9 else recipe


def completed(recipe):
    """The same with what its choices look into inside a response, and a word on failures where there can be some."""
    read = frozenset().union(*(units(recipe, n) for n in recipe.nodes()))
    missing, sampling = read - divided(recipe), list(recipe.sampling)
    if STATE in missing:
        sampling[0] = node("sampling", "tree", 2, 2, max_tokens=16)
    elif CONTINUED in recipe.advantage[0].choice.needs:
        sampling[0] = node("sampling", "vine", 2, max_tokens=16)
    if missing & {STEP, TURN} or STEPS in sampling[0].choice.needs:
        kept = [n for n in sampling[1:] if not isinstance(n.choice, Dividing)]
        sampling[1:] = [node("sampling", "steps", every=2, unit="turn" if TURN in missing else "step"), *kept]
    recipe = replace(recipe, sampling=tuple(sampling))
    if giving(recipe, MULTI_TURN) and not any(isinstance(n.choice, base.FailureRule) for n in recipe.nodes()):
        recipe = replace(recipe, feedback=Sum((recipe.feedback, node("feedback", "mask_infra_failures"))))
    return recipe


def lenient(recipe):
    """The same with a sampler's limit that no length rule objects to, so that other combinations are reached."""
    first = replace(recipe.sampling[0], choice=replace(recipe.sampling[0].choice, max_tokens=30_000))
    return replace(recipe, sampling=(first, *recipe.sampling[1:]))


@pytest.mark.parametrize("seed", range(COMBINATIONS))
def test_what_is_not_refused_works(seed):
    recipe = lenient(draw(seed))
    found = check(recipe)
    assert all(d.message and d.why and d.fix and d.labels for d in found)
    if not refused(found):
        objective = build(recipe) if unprovided(found) else compile_recipe(recipe)[0].formula
        assert finite(run(objective, random_batch(seed), 10))


def unprovided(found):
    """Whether the recipe can be probed and not run: it reads what no engine here provides."""
    return any(d.code == "RL406" for d in found)


def refused(found):
    """Whether the choices clash, whoever runs them."""
    return any(d.severity == "error" and d.code != "RL406" for d in found)


def test_enough_of_them_are_not_refused():
    each = [check(lenient(draw(seed))) for seed in range(COMBINATIONS)]
    clash = [refused(found) for found in each]
    assert 15 <= clash.count(False) and 15 <= clash.count(True)
    assert any(not refused(f) and not unprovided(f) for f in each)
