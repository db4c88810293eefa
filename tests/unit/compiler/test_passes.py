"""Each pass: when it acts, when it must not, and that the result is the same before and after."""

import itertools
import math
import random

import pytest

from rldsl.algebra.evaluate import Value, gradient
from rldsl.algebra.expr import RESPONSE, TOKEN, UPDATE
from rldsl.compiler import lower, objective
from rldsl.compiler.passes import PASSES, run_passes
from rldsl.compiler.recipe import Sum
from rldsl.runtime.batch import Batch, PlainMath
from rldsl.runtime.settle import settle, weigh

from .hand_made import CURRENT_OLD, grpo, node, with_optim

OLD_OFF = {"old_is_current"}
VERIFY = node("feedback", "verify", "numeric")
ICEPOP = (node("distribution", "icepop"),)


def passed(recipe, off=frozenset()):
    o = objective.build(recipe)
    return run_passes(o, lower.build(recipe, o), off)


def ids(recipe, off=frozenset()):
    return {n.id for n in passed(recipe, off)[1].nodes}


def batch(seed=0, groups=3, siblings=4):
    """A batch at the start of its only update: logp_old is logp_current. One group is uniform."""
    rng = random.Random(seed)
    lengths = [rng.randint(1, 4) for _ in range(groups * siblings)]
    n = sum(lengths)
    token = lambda: Value(TOKEN, [rng.uniform(-2, -0.1) for _ in range(n)])  # noqa: E731
    current = token()
    scores = [float(rng.random() < 0.5) if g else 1.0 for g in range(groups) for _ in range(siblings)]
    columns = {"logp_current": current, "logp_old": current, "logp_rollout": token(), "logp_ref": token(),
               "values": token(), "entropy": token(), "kl_exact": token(), "scores": Value(RESPONSE, scores),
               "correct": Value(RESPONSE, scores), "truncated": Value(RESPONSE, [0.0] * len(lengths)),
               "versions": Value(TOKEN, [3.0] * n), "trainer_version": Value(UPDATE, [3.0])}
    return Batch.of(lengths, [i // siblings for i in range(groups * siblings)], columns, PlainMath())


def result(o, b):
    """J's terms and the gradient of each quantity that carries one."""
    update = weigh(o, settle(o, b).batch)
    env = {k: v.data for k, v in update.columns.items()}
    value = math.fsum(update.value(t.expr).data[0] for t in o.terms())
    grads = {}
    for term in o.terms():
        for name, g in gradient(term.expr, env, update.shape).items():
            grads[name] = [a + b for a, b in zip(grads.get(name, [0.0] * len(g)), g, strict=True)]
    return value, grads


def close(a, b):
    assert math.isclose(a[0], b[0], rel_tol=1e-12, abs_tol=1e-14)
    names = set(a[1]) | set(b[1])
    for name in names:
        one, two = a[1].get(name), b[1].get(name)
        zeros = [0.0] * len(one or two)
        rows = zip(one or zeros, two or zeros, strict=True)
        assert all(math.isclose(x, y, rel_tol=1e-12, abs_tol=1e-14) for x, y in rows)


GATES = [node("gate", "none"), node("gate", "clip", 0.2), node("gate", "clip", 0.2, dual=3.0), node("gate", "cispo"),
         node("gate", "double_sided")]
RATIOS = [node("ratio", "token", CURRENT_OLD), node("ratio", "sequence", CURRENT_OLD)]
DISTRIBUTIONS = [(node("distribution", "on_policy"),), ICEPOP, (node("distribution", "tis", grain="product"),)]
REGULARISERS = [(), (node("gate", "kl", 0.0), node("gate", "entropy", 0.01)), (node("gate", "kl", 0.1, to="old"),)]


@pytest.mark.parametrize("gate, ratio, distribution, regularisers",
                         list(itertools.product(GATES, RATIOS, DISTRIBUTIONS, REGULARISERS)))
def test_passes_keep_value_and_gradient(gate, ratio, distribution, regularisers):
    recipe = grpo(gate=gate, ratio=ratio, distribution=distribution, regularisers=regularisers)
    after, _, notes = passed(recipe)
    assert {"old_is_current"} <= {n.source for n in notes}
    close(result(objective.build(recipe), batch()), result(after, batch()))


def test_a_coefficient_of_zero_needs_no_reference():
    recipe = grpo(regularisers=(node("gate", "kl", 0.0),))
    after, graph, notes = passed(recipe)
    assert graph.node("logprob.ref") is None and not after.regularisers
    assert notes[0].removed == ("logprob.ref",) and "no reference model is loaded" in notes[0].sentence
    assert "logprob.ref" in ids(recipe, {"unread"})


def test_a_coefficient_that_is_not_zero_keeps_it():
    assert "logprob.ref" in ids(grpo(regularisers=(node("gate", "kl", 1e-9),)))


def test_a_ratio_that_no_term_reads_needs_no_forward_and_is_not_reported():
    recipe = with_optim(grpo(gate=node("gate", "unit")), updates_per_batch=2)
    after, graph, _ = passed(recipe)
    assert graph.node("logprob.old") is None and after.ratio is None
    kept, graph, _ = passed(recipe, {"unread"})
    assert graph.node("logprob.old") is not None and kept.ratio is not None
    assert passed(with_optim(grpo(), updates_per_batch=2))[0].ratio is not None


def test_exact_kl_at_zero_is_not_computed():
    recipe = grpo(regularisers=(node("gate", "kl", 0.0, estimator="exact"),))
    update = passed(recipe)[1].node("update")
    assert update.options["wants"] == ["logp_current"] and "reference_weights" not in update.reads


def test_old_is_current_needs_one_update_per_batch():
    assert "logprob.old" not in ids(grpo())
    assert "logprob.old" in ids(with_optim(grpo(), updates_per_batch=2))
    assert "logprob.old" in ids(with_optim(grpo(), epochs=2))


@pytest.mark.parametrize("grain, advantage", [("token", "gae"), ("response", "group_norm")])
def test_old_stays_where_a_reward_reads_it(grain, advantage):
    feedback = Sum((VERIFY, node("feedback", "kl_in_reward", 0.1, grain=grain)))
    assert "logprob.old" in ids(grpo(feedback=feedback, advantage=(node("advantage", advantage),)))


def test_a_correction_moves_into_the_update():
    after, graph, _ = passed(grpo(distribution=ICEPOP))
    assert "logp_rollout" in graph.node("update").reads
    assert "logp_old" not in after.reads()
    assert settle(after, batch()).batch.columns["correction"].data == [1.0] * sum(batch().lengths)


def test_rows_vanish_where_an_advantage_of_zero_ends_every_term():
    skips = lambda recipe: passed(recipe)[1].node("update").options["skip_zero_rows"]  # noqa: E731
    assert skips(grpo()) and skips(grpo(distribution=ICEPOP)) and skips(grpo(regularisers=(node("gate", "kl", 0.0),)))
    assert not skips(grpo(regularisers=(node("gate", "kl", 0.1),)))
    assert not skips(grpo(regularisers=(node("gate", "entropy", 0.01),)))
    assert not skips(grpo(advantage=(node("advantage", "gae"),)))


@pytest.mark.parametrize("gate", GATES, ids=lambda g: g.name)
def test_rows_that_are_left_out_have_no_gradient(gate):
    after, graph, _ = passed(grpo(gate=gate))
    assert graph.node("update").options["skip_zero_rows"]
    b = weigh(after, settle(after, batch()).batch)
    zero = [i for i, a in enumerate(b.columns["advantage"].data) if a == 0]
    _, grads = result(after, batch())
    assert zero and all(grads["logp_current"][i] == 0 for i in zero)


def test_one_forward_gives_all_quantities():
    recipe = grpo(regularisers=(node("gate", "entropy", 0.01), node("gate", "kl", 0.1, estimator="exact")))
    options = passed(recipe)[1].node("update").options
    assert options["wants"] == ["logp_current", "entropy", "kl_exact"] and options["one_forward"]
    assert not passed(recipe, {"one_forward"})[1].node("update").options["one_forward"]


def test_prompts_are_shared_by_siblings_only():
    single = grpo(sampling=(node("sampling", "single", max_tokens=16),), advantage=(node("advantage", "monte_carlo"),))
    assert not passed(single)[1].node("update").options["share_prompts"]
    graph = passed(with_optim(grpo(), updates_per_batch=2))[1]
    assert graph.node("update").options["share_prompts"] and graph.node("logprob.old").options["share_prompts"]


def test_every_pass_can_be_left_out_alone_and_unknown_names_are_refused():
    names = {p.name for p in PASSES}
    for name in names:
        assert name not in {n.source for n in passed(grpo(regularisers=(node("gate", "kl", 0.0),)), {name})[2]}
    untouched = grpo()
    o = objective.build(untouched)
    assert passed(untouched, names)[:2] == (o, lower.build(untouched, o))
    with pytest.raises(ValueError, match="no pass is called fuse"):
        passed(grpo(), {"fuse"})
