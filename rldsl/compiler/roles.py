"""The roles of a cluster: which processes a recipe has, what is in each, and the devices that are left to others."""

from __future__ import annotations

from dataclasses import dataclass

from rldsl.algebra.variables import KL_EXACT, LOGP_REF, MISMATCHED
from rldsl.axes.base import Source
from rldsl.axes.judging import ModelSource
from rldsl.axes.traits import VALUES

from .facts import begun, devices, giving, reading, scored_by_teacher
from .recipe import Recipe, feedback_nodes

ROLLOUT, LENT, TRAIN, REWARD = "rollout", "lent", "train", "reward"
REFERENCE, CRITIC, TEACHER, JUDGE = "reference", "critic", "teacher", "judge"
"""Each is a setting of `cluster` too: how many ranks the role's model has to itself, or how many processes of a judge
there are."""
INITIAL = "initial"
"""The reference that is the policy itself before its first update."""
POLICY = "policy"
"""The judge that is the policy itself."""


@dataclass(frozen=True)
class Apart:
    """A role whose `models` each have `ranks` processes of their own."""

    role: str
    ranks: int
    models: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """What each model's ranks are called."""
        return numbered(self.role, self.models)

    @property
    def devices(self) -> int:
        """GPUs, or processes where there are none."""
        return self.ranks * self.models


@dataclass(frozen=True)
class Role:
    """`count` places of one role, of `gpus` GPUs each, or of one CPU each where that is 0; each is shared by `sharers`
    processes."""

    name: str
    count: int
    gpus: float = 0.0
    sharers: int = 1

    @property
    def processes(self) -> int:
        """How many there are."""
        return self.count * self.sharers

    @property
    def bundle(self) -> dict[str, float]:
        """What Ray reserves for one of its places."""
        return {"CPU": 1.0, **({"GPU": self.gpus} if self.gpus else {})}


def numbered(role: str, models: int) -> tuple[str, ...]:
    """A name for each model of a role."""
    return (role,) if models == 1 else tuple(f"{role}-{k + 1}" for k in range(models))


def frozen(recipe: Recipe) -> dict[str, tuple[str, ...]]:
    """{role: its models} of the models that some formula reads and nobody trains. Teachers of one name are one."""
    model, found = recipe.settings.model, {}
    if reading(recipe, LOGP_REF.name, KL_EXACT.name, MISMATCHED.name):
        found[REFERENCE] = (model.reference,)
    if scored_by_teacher(recipe) and model.teachers:
        found[TEACHER] = tuple(dict.fromkeys(model.teachers))
    return found


def asked(recipe: Recipe) -> dict[str, str | None]:
    """{what a model is asked as: the model} of those that are asked in texts for a score, or to begin responses."""
    model, found = recipe.settings.model, {}
    named = {"reward": model.reward, JUDGE: model.judge, POLICY: model.policy,
             INITIAL: model.policy if model.reference == INITIAL else model.reference}
    for node in feedback_nodes(recipe.feedback):
        if isinstance(node.choice, ModelSource):
            role = node.choice.asked().role
            who = POLICY if role == JUDGE and model.judge == POLICY else role
            found[who] = named[who]
    for node in begun(recipe):
        found[node.choice.begin().policy] = next(iter(model.teachers), None)
    return found


def judging(recipe: Recipe) -> int:
    """Processes that hold the models which are asked: one at least, where there are any."""
    cluster = recipe.settings.cluster
    return 0 if cluster.where == "local" or not asked(recipe) else cluster.judge or 1


def apart(recipe: Recipe) -> tuple[Apart, ...]:
    """Every role that the cluster block gives ranks of its own, where some formula reads its model."""
    models = {role: len(found) for role, found in frozen(recipe).items()}
    if giving(recipe, VALUES):
        models[CRITIC] = 1
    return tuple(Apart(role, ranks, models[role]) for role in (REFERENCE, CRITIC, TEACHER)
                 if role in models and (ranks := getattr(recipe.settings.cluster, role)))


def beside(recipe: Recipe) -> dict[str, int]:
    """{role: its devices} of all roles beside sampling and training that have some of their own."""
    found = {role.role: role.devices for role in apart(recipe)}
    return found | ({JUDGE: judging(recipe)} if judging(recipe) else {})


def pooled(recipe: Recipe) -> int | None:
    """GPUs that these roles leave to a placement that names no pools; None where the recipe does not say."""
    total = devices(recipe)
    return None if total is None else total - sum(beside(recipe).values())


def processes(recipe: Recipe) -> tuple[Role, ...]:
    """The processes of a recipe. Where one pool takes turns, each role counts the whole pool and half of each GPU;
    engines on devices that the trainer lends have half of each too.

    Without `gpus_per_node` there are no GPUs, and the numbers of a placement count processes. An engine is one process
    of `rollout_tensor` devices, for each set of weights that is served; a rank and a judge are one of one device, a
    scorer one of a CPU. Ranks, judges and scorers of their own come beside the pools.
    """
    cluster, pools = recipe.settings.cluster, recipe.placement.choice.pools()
    gpu = cluster.gpus_per_node is not None
    own = cluster.tensor * cluster.pipeline * cluster.context
    pool = pooled(recipe)
    sampling = pools.get(ROLLOUT, pool or cluster.rollout_tensor)
    training = pools.get(TRAIN, pool or own)
    each, whole, sets = cluster.rollout_tensor, float(gpu), recipe.placement.choice.serves()
    device = 0.5 * whole if recipe.placement.choice.shared() else whole
    trains = 0.5 * whole if recipe.placement.choice.lends() else device
    lent = [Role(LENT, max(1, training // each), each * trains, sets)] if recipe.placement.choice.lends() else []
    alone = [Role(name, role.ranks, whole) for role in apart(recipe) for name in role.names]
    asking = [Role(JUDGE, judging(recipe), whole)] if judging(recipe) else []
    scoring = [Role(REWARD, cluster.reward)] if cluster.reward and functions(recipe) else []
    return (Role(ROLLOUT, max(1, sampling // each), each * device, sets), *lent, Role(TRAIN, training, trains), *alone,
            *asking, *scoring)


def functions(recipe: Recipe) -> bool:
    """Whether functions score responses, and not only models."""
    return any(isinstance(n.choice, Source) and not isinstance(n.choice, ModelSource)
               for n in feedback_nodes(recipe.feedback))
