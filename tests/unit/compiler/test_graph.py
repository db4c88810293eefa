import pytest

from rldsl.compiler import graph as graphs
from rldsl.compiler import lower, objective
from rldsl.compiler.graph import Graph, Node, from_json, from_text, to_json, to_text, verify
from rldsl.compiler.recipe import Sum

from .hand_made import grpo, node, with_optim


def naive(recipe):
    return lower.build(recipe, objective.build(recipe))


KEEP = (node("sampling", "group", 4, max_tokens=16), node("sampling", "keep", "mixed", max_rounds=3))


def everything():
    feedback = Sum((node("feedback", "verify", "numeric"), node("feedback", "kl_in_reward", 0.1)))
    return grpo(feedback=feedback, advantage=(node("advantage", "gae"),), sampling=KEEP,
                regularisers=(node("gate", "kl", 0.0, estimator="exact"), node("gate", "entropy", 0.01)))


def test_the_naive_graph_runs_a_forward_for_every_policy_mentioned():
    g = naive(grpo(regularisers=(node("gate", "kl", 0.0),)))
    assert [n.id for n in g.nodes] == ["sample", "score", "logprob.old", "logprob.ref", "advantage", "update",
                                       "publish", "checkpoint"]
    assert g.node("logprob.ref").reads == ("trajectories", "reference_weights")


def test_a_critic_writes_values_and_is_trained_on_its_target():
    g = naive(everything())
    assert g.node("value").writes == ("values",)
    assert "value_target" in g.node("advantage").writes
    assert g.node("update").writes == ("weights", "critic_weights")
    assert {"value_target", "reference_weights"} <= set(g.node("update").reads)


def test_a_filter_says_how_long_it_refills_and_stands_before_the_forwards():
    g = naive(everything())
    keep = g.node("filter.1")
    assert keep.reads == ("trajectories", "correct")
    assert dict(keep.options) == {"stage": "keep", "index": 0, "refill": "sample", "max_rounds": 3,
                                  "exhausted": "error"}
    ids = [n.id for n in g.nodes]
    assert ids.index("filter.1") < ids.index("logprob.old")


def test_updates_carry_the_settings():
    options = naive(with_optim(grpo(), updates_per_batch=4, epochs=2)).node("update").options
    assert (options["updates_per_batch"], options["epochs"]) == (4, 2)


@pytest.mark.parametrize("recipe", [grpo(), everything()], ids=["grpo", "everything"])
def test_text_and_json_give_the_same_graph_back(recipe):
    g = naive(recipe)
    assert from_text(to_text(g)) == g
    assert from_json(to_json(g)) == g
    verify(g)


def test_text_of_a_graph():
    g = Graph((Node("sample", "sample", ("prompts",), ("trajectories", "versions"), "rollout", {"siblings": 2}),
               Node("checkpoint", "checkpoint", (), (), "control")))
    assert to_text(g) == ('graph 1\nsample sample@rollout (prompts) -> (trajectories, versions) {"siblings": 2}\n'
                          "checkpoint checkpoint@control () -> () {}\n")


def test_another_text_is_refused():
    with pytest.raises(ValueError, match="not a graph"):
        from_text("graph 2\n")


@pytest.mark.parametrize("node, says", [
    (Node("a", "update", ("advantage",), (), "train"), "a reads advantage before anything writes it"),
    (Node("a", "update", (), ("adventage",), "train"), "unknown field adventage"),
    (Node("a", "train", (), (), "train"), "has kind train"),
    (Node("a", "update", (), (), "gpu"), "on engine gpu"),
])
def test_broken_graphs_are_found(node, says):
    with pytest.raises(ValueError, match=says):
        verify(Graph((node,)))


def test_two_nodes_of_one_name_are_found():
    same = Node("a", "publish", (), (), "train")
    with pytest.raises(ValueError, match="two nodes are called a"):
        verify(Graph((same, same)))


def test_fields_know_their_grain():
    grains = {f.name: f.grain for f in naive(grpo()).fields()}
    assert grains["score.verify"] == "response" and grains["logp_old"] == "token" and grains["weights"] == "model"
    assert set(grains) - {"score.verify"} <= set(graphs.GRAINS)
