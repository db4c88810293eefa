"""A trainer in a Ray actor that is the embedded engine: what is tested beside it is everything else."""

from __future__ import annotations

from pathlib import Path

import ray

from rldsl.algebra.evaluate import Value
from rldsl.backends.cluster.engine_process import answer
from rldsl.backends.cluster.weights import Weights, pack
from rldsl.backends.local.architecture import from_config
from rldsl.backends.local.engine import LocalEngine
from rldsl.backends.local.hf_folder import _reader
from rldsl.backends.local.hf_weights import adopt, exported
from rldsl.backends.local.launch import optimizer_spec
from rldsl.backends.local.model import Policy
from rldsl.backends.torch_math import TorchMath
from rldsl.runtime.batch import Batch
from rldsl.runtime.protocols import UpdateJob
from rldsl.runtime.stages_data import sampling_options


def policy_of(folder: Path, config, tokenizer) -> Policy:
    """The embedded backend's policy with the weights of a model folder."""
    policy = Policy(from_config(config, str(folder)), tokenizer=tokenizer)
    adopt(policy, _reader(folder))
    return policy


class Inside:
    def __init__(self, plan, recipe, found):
        self.policy = policy_of(found.folder, found.config, found.tokenizer)
        self.dtype, optim = plan.resolved["dtype"], recipe.settings.optim
        self.engine = LocalEngine(self.policy, plan.objective, sampling_options(plan.graph.of("sample")[0]),
                                  optimizer_spec(optim.optimizer, optim.clip_grad), seed=plan.seed)

    def call(self, name, *args):
        return getattr(self.engine, name)(*args)

    def update(self, rows, sent, options):
        lengths, groups, positions, columns, extra = sent
        values = {n: Value(grain, self.engine.math.column(x)) for n, (grain, x) in columns.items()}
        batch = Batch.of(lengths, groups, values, self.engine.math, positions, **extra)
        return self.engine.update(UpdateJob(rows, batch, *options))

    def export(self):
        return pack(exported(self.policy), self.dtype)


class StandIn:
    """See rldsl.backends.cluster.publishing.Exporter."""

    def __init__(self, plan, recipe, found, reserved):
        self.math = TorchMath("cpu")
        kind = ray.remote(num_cpus=1, max_restarts=0)(Inside)
        self.actor = kind.options(scheduling_strategy=reserved.strategy("train", 0),
                                  runtime_env={"env_vars": {"OMP_NUM_THREADS": "1"}}).remote(plan, recipe, found)

    def _call(self, name, *args):
        return answer(self.actor.call.remote(name, *args), "the trainer", 120.0, name)

    def logprobs(self, policy, rows, wants, cutting):
        return self._call("logprobs", policy, rows, wants, cutting)

    def values(self, rows, cutting):
        return self._call("values", rows, cutting)

    def update(self, job):
        b = job.batch
        columns = {n: (v.grain, v.data.tolist()) for n, v in b.columns.items()}
        options = (job.options, job.lr_factor, job.policy, job.critic, job.value_clip)
        sent = self.actor.update.remote(job.rows, (b.lengths, b.groups, b.rows, columns, dict(b.extra)), options)
        return answer(sent, "the trainer", 120.0, "update")

    def save(self, folder):
        self._call("save", folder)

    def load(self, folder, version):
        self._call("load", folder, version)

    def export(self):
        manifest, flat = self.actor.export.options(num_returns=2).remote()
        return Weights(ray.get(manifest), flat)


def build(plan, recipe, found, reserved, folder):
    """In the place of rldsl.backends.cluster.launch.build_trainer."""
    return StandIn(plan, recipe, found, reserved)
