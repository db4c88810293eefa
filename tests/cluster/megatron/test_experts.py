"""Mixtures of experts: the gradient of transformers' autograd in every layout, and the experts of a rollout again."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from rldsl.backends.cluster.megatron.layout import Parallel
from rldsl.backends.cluster.training.parcel import packed
from rldsl.backends.cluster.training.rank import Part, RankSpec
from rldsl.backends.local.training.coefficients import coefficients
from rldsl.backends.local.training.terms import prepare, with_constants
from rldsl.backends.torch_math import TorchMath
from rldsl.runtime.errors import RunError
from rldsl.runtime.protocols import Cutting
from rldsl.runtime.tally import Tally
from rldsl.runtime.trajectory import Trajectory

from . import jobs
from .test_convert import EXPERT_LAYOUTS, named
from .updates import ONE_PIECE, SAMPLING, SGD, job, made_rows, objective, spec_of

PIECES = Cutting(24, True, True)


@pytest.fixture(scope="module")
def model(moe):
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(moe, dtype=torch.float32)


def logps(model, row: Trajectory) -> torch.Tensor:
    """ℓ of each action token, one row at a time."""
    ids = torch.tensor([[*row.prompt, *row.tokens]])
    scores = (model(ids).logits[0] / SAMPLING.temperature).log_softmax(-1)
    at = torch.arange(len(row.prompt) - 1, ids.shape[1] - 1)
    return scores[at, ids[0, at + 1]]


def routes(model, row: Trajectory) -> tuple:
    """The experts that transformers chooses for each computed token: [tokens, layers, k]."""
    ids = torch.tensor([[*row.prompt, *row.tokens[:-1]]])
    with torch.no_grad():
        found = model(ids, output_router_logits=True).router_logits
    return tuple(map(tuple, torch.stack([layer.topk(2, -1).indices for layer in found], 1).tolist()))


def gradient(model, made, update) -> dict[str, torch.Tensor]:
    """dJ/dweight under the names of the checkpoint."""
    model.zero_grad()
    found = torch.cat([logps(model, row) for row in update.rows])
    terms = prepare(made)
    slopes = coefficients(terms, TorchMath(), update.rows, with_constants(terms, update.batch),
                          {"logp_current": found.detach()}, Tally())
    (found * slopes["logp_current"].float()).sum().backward()
    out = {}
    for name, p in model.named_parameters():
        if name.endswith("experts.gate_up_proj"):
            for e, part in enumerate(p.grad):
                stem = name.replace("gate_up_proj", f"{e}.")
                out[f"{stem}gate_proj.weight"], out[f"{stem}up_proj.weight"] = part.chunk(2)
        elif name.endswith("experts.down_proj"):
            out |= {name.replace("down_proj", f"{e}.down_proj.weight"): part for e, part in enumerate(p.grad)}
        else:
            out[name] = p.grad
    return out


def flat(tensors: dict) -> torch.Tensor:
    return torch.cat([tensors[name].double().flatten() for name in sorted(tensors)])


@pytest.mark.parametrize("parallel", EXPERT_LAYOUTS, ids=named)
def test_the_gradient_is_that_of_transformers(processes, moe, model, parallel) -> None:
    made, rows = objective(), made_rows()
    update = job(made, rows, cutting=PIECES)
    spec = spec_of(parallel, moe, "float32", made, SAMPLING, SGD)
    start = processes.run(1, jobs.using, dataclasses.replace(spec, parallel=Parallel()), jobs.round_trip)[0]
    answers = processes.run(parallel.ranks, jobs.using, spec, jobs.trained, rows, [packed(update)])
    ours, theirs = flat(answers[0][0]) - flat(start), flat(gradient(model, made, update))
    assert float(torch.cosine_similarity(ours, theirs, 0)) > 0.9999
    assert float(ours.norm() / theirs.norm()) == pytest.approx(1, abs=1e-3)
    told = [tally.means()["grad_norm"] for _, (tally,) in answers if tally and "grad_norm" in tally.sums]
    assert told == [pytest.approx(float(theirs.norm()), rel=1e-3)]


def column(answers: list[Part | None], rows: list[Trajectory], name: str = "logp_current") -> torch.Tensor:
    """A column over all rows, in their order, from the parts of all shards."""
    found: dict[int, torch.Tensor] = {}
    for part in filter(None, answers):
        each = torch.from_numpy(part.columns[name]).split([len(rows[i].tokens) for i in part.positions])
        found |= dict(zip(part.positions, each, strict=True))
    return torch.cat([found[i] for i in range(len(rows))])


def measured(processes, spec: RankSpec, rows: list[Trajectory]) -> torch.Tensor:
    answers = processes.run(spec.parallel.ranks, jobs.using, spec, jobs.measured, "current", rows, ("logp_current",),
                            PIECES)
    return column(answers, rows)


@pytest.mark.parametrize("parallel", EXPERT_LAYOUTS, ids=named)
def test_experts_are_chosen_as_the_rollout_chose_them(processes, moe, model, parallel) -> None:
    """C-058: replayed experts are the recorded ones, also where two ranks share out rows or experts."""
    rows = [r for r in made_rows() if r.tokens]
    spec = spec_of(parallel, moe, "float32", objective(), SAMPLING, SGD, align={"replay_routing": True})
    theirs = torch.cat([logps(model, row) for row in rows]).detach()
    own = [dataclasses.replace(row, routes=routes(model, row)) for row in rows]
    other = [dataclasses.replace(row, routes=[[((a + 1) % 4, (b + 1) % 4) for a, b in layers] for layers in row.routes])
             for row in own]
    assert float((measured(processes, spec, own) - theirs).abs().max()) < 1e-4
    assert float((measured(processes, spec, other) - theirs).abs().max()) > 0.1


def test_the_router_learns_while_experts_are_replayed(processes, moe, model) -> None:
    made = objective()
    rows = [dataclasses.replace(r, routes=routes(model, r)) for r in made_rows() if r.tokens]
    update = job(made, rows, cutting=ONE_PIECE)
    spec = spec_of(Parallel(), moe, "float32", made, SAMPLING, SGD, align={"replay_routing": True})
    start = processes.run(1, jobs.using, spec, jobs.round_trip)[0]
    after = processes.run(1, jobs.using, spec, jobs.trained, rows, [packed(update)])[0][0]
    ours, theirs = flat(after) - flat(start), flat(gradient(model, made, update))
    assert float(torch.cosine_similarity(ours, theirs, 0)) > 0.9999
    router = "model.layers.0.mlp.gate.weight"
    assert float((after[router] - start[router]).norm()) > 0


def test_routes_that_do_not_cover_a_row_are_refused(processes, moe, model) -> None:
    """C-058: a list of experts that is one token short is fatal."""
    rows = [dataclasses.replace(r, routes=routes(model, r)[:-1]) for r in made_rows() if r.tokens]
    spec = spec_of(Parallel(), moe, "float32", objective(), SAMPLING, SGD, align={"replay_routing": True})
    with pytest.raises(RunError, match=r"RL617 response 0\.0 came with experts for \d+ of its \d+ computed tokens"):
        measured(processes, spec, rows)
