"""Which policy each log-prob belongs to, at which weight version, who computes it and who reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rldsl.algebra import variables as q
from rldsl.algebra.divergence import is_divergence, named
from rldsl.algebra.expr import Expr

from .graph import Graph
from .lower import names
from .objective import Objective
from .recipe import Recipe

POLICIES = {
    q.LOGP_ROLLOUT.name: ("rollout", "behaviour: what the rollout engine sampled with"),
    q.LOGP_OLD.name: ("old", "proximal: the snapshot that the batch's updates start from"),
    q.LOGP.name: ("current", "current: the policy that is being trained"),
    q.LOGP_REF.name: ("ref", "reference: frozen"),
    q.LOGP_TEACHER.name: ("teacher", "teacher: frozen, scores the policy's own tokens"),
}
"""{log-prob: (the policy's word in a recipe, its role)}."""
OTHERS = {q.ENTROPY.name: "entropy of the current policy, over the vocabulary",
          q.KL_EXACT.name: "KL of the current policy to the reference, over the vocabulary",
          q.SQUARES.name: "sum of the current policy's squared probabilities, over the vocabulary",
          q.PRETRAIN.name: "log-likelihood of pretraining texts under the current policy",
          q.VALUE.name: "the critic's value before each token"}


@dataclass(frozen=True)
class Quantity:
    """A forward's result: whose it is, at which versions (v is the trainer's at the batch's start), from where."""

    name: str
    role: str
    versions: str
    computed: str
    readers: tuple[str, ...]


def quantities(recipe: Recipe, formula: Objective, before: Graph, after: Graph) -> Iterator[Quantity]:
    """Every log-prob, value, entropy or KL that a formula of the recipe reads."""
    said = dict(readings(formula))
    compared = sorted(filter(is_divergence, names(said.values())))
    for name in (*POLICIES, *OTHERS, *compared):
        readers = tuple(what for what, e in said.items() if name in names([e]))
        if readers:
            role = POLICIES[name][1] if name in POLICIES else OTHERS.get(name) or _divergence(name)
            yield Quantity(name, role, _versions(name, recipe), _computed(name, before, after), readers)


def _divergence(name: str) -> str:
    spec = named(name)
    over = "the vocabulary" if spec.top is None else f"the teacher's {spec.top} most likely tokens"
    return f"{spec.kind} between the current policy and the teacher, over {over}"


def readings(o: Objective) -> Iterator[tuple[str, Expr]]:
    """(what it is, its formula) for every formula that may read a forward's result."""
    single = {"reward": o.reward, "token reward": o.token_reward, "advantage": o.advantage,
              "critic's target": o.value_target, "ratio": o.ratio, "gate": o.policy, "correction": o.correction,
              "weight": o.weight}
    yield from ((what, e) for what, e in single.items() if e is not None)
    yield from ((n.name, n.expr) for n in (*o.regularisers, *o.keeps, *o.leaves_first, *o.leaves_later))


def pair(e: Expr | None) -> str | None:
    """The two policies that a ratio compares, as a recipe writes them: "current / old"."""
    order = (q.LOGP.name, q.LOGP_OLD.name, q.LOGP_REF.name, q.LOGP_ROLLOUT.name)
    found = [POLICIES[name][0] for name in order if name in names([e])]
    return " / ".join(found) if len(found) == 2 else None


def _versions(name: str, recipe: Recipe) -> str:
    lag, optim = recipe.schedule.choice.lag(), recipe.settings.optim
    updates = optim.updates_per_batch * optim.epochs
    if name == q.LOGP_ROLLOUT.name:
        return "v" if lag == 0 else "any up to v" if lag is None else f"v−{lag} … v"
    if name == q.LOGP_REF.name:
        return f"fixed: {recipe.settings.model.reference}"
    if name == q.LOGP_TEACHER.name:
        return f"fixed: {', '.join(recipe.settings.model.teachers) or 'not named'}"
    if name == q.VALUE.name:
        return "the critic's own, at the batch's start"
    if name == q.LOGP_OLD.name:
        return "v"
    return "v" if updates == 1 else f"v, then after each of {updates} updates"


def _computed(name: str, before: Graph, after: Graph) -> str:
    if name == q.LOGP_ROLLOUT.name:
        return "recorded when sampled"
    if name in after.node("update").options["wants"]:
        return "update"
    node = next((n for n in before.nodes if name in n.writes), None)
    if node is None:
        return "nothing computes it"
    return node.id if after.node(node.id) else f"no forward: {node.id} was removed"
