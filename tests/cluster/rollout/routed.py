"""In a process of its own: a mixture of experts whose weights change while it samples from a truncated distribution;
the experts and the candidates that it recorded."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from rldsl.backends.cluster import guard

os.environ |= guard.engine_environment(gpu=False)
guard.prepare()

import torch  # noqa: E402

from rldsl.backends.cluster.rollout.engine import VllmEngine  # noqa: E402
from rldsl.backends.cluster.rollout.streams import EngineSpec, Stream  # noqa: E402
from rldsl.backends.cluster.weights import pack  # noqa: E402
from rldsl.backends.local.distribution import scaled  # noqa: E402
from rldsl.runtime.trajectory import Request, SamplingOptions, Trajectory  # noqa: E402
from tests.cluster import models  # noqa: E402

OPTIONS = SamplingOptions(temperature=0.8, max_tokens=24, top_k=40, top_p=0.9)
STEPS = 10
"""Of the engine, before its weights change."""


def chosen(model, row: Trajectory, first: int = 0, past=None) -> tuple[torch.Tensor, torch.Tensor, object]:
    """transformers' experts for the computed tokens from `first` on, sorted: [tokens, layers, k]; its logits there
    [tokens, V], its keys and values."""
    ids = torch.tensor([[*row.prompt, *row.tokens[:-1]]])[:, first:]
    with torch.no_grad():
        out = model(ids, past_key_values=past, use_cache=True, output_router_logits=True)
    experts = torch.stack([layer.topk(2, -1).indices.sort(-1).values for layer in out.router_logits], 1)
    return experts, out.logits[0].float(), out.past_key_values


def after_change(new, row: Trajectory, cut: int, past) -> tuple[torch.Tensor, torch.Tensor]:
    """What the new weights say from the token `cut` on, over the keys and values of `past` or all computed again."""
    if past is None:
        experts, logits, _ = chosen(new, row)
        return experts[cut:], logits[cut:]
    past.crop(cut)
    return chosen(new, row, cut, past)[:2]


def apart(logits: torch.Tensor, row: Trajectory) -> float:
    """How far its log-probs are from those of the logits over its candidates."""
    kept = [x[list(ids)].div(OPTIONS.temperature).log_softmax(0)[ids.index(token)]
            for x, ids, token in zip(logits, row.candidates, row.tokens, strict=True)]
    return float((torch.stack(kept) - torch.tensor(row.logps)).abs().max())


def sampled(folder: str, new, *, keeps: bool) -> list[Trajectory]:
    """Streams whose weights change under way."""
    engine = VllmEngine(EngineSpec(folder, models.Letters(), models.VOCABULARY, "float32", models.CONTEXT, 5,
                                   cache_bytes=1 << 26, routes=True, keeps=keeps, candidates=True))
    for i in range(6):
        engine.add(Stream(i, Request(i, 0, tuple(range(20, 30 + i)), 1, first=i), OPTIONS, batch=0))
    rows = []
    while engine.busy:
        rows += [t for _, t in engine.step()]
        if engine.steps == STEPS:
            engine.load(1, *pack(models.weights(new), "float32"))
    return rows


def compared(old, new, rows: list[Trajectory], *, keeps: bool) -> dict:
    before = after = whole = other = True
    sets, gaps, sizes = [], [], set()
    for row in rows:
        cut = len(row.prompt) + row.versions.count(0) - 1
        found = torch.tensor(row.routes).sort(-1).values
        earlier, logits, past = chosen(old, row)
        later, rest = found[cut:], logits[cut:]
        if cut < len(found):
            later, rest = after_change(new, row, cut, past if keeps else None)
        whole &= len(found) == len(row.prompt) + len(row.tokens) - 1
        before &= torch.equal(found[:cut], earlier[:cut])
        after &= torch.equal(found[cut:], later)
        other &= torch.equal(found, chosen(new, row)[0])
        logits = torch.cat((logits[:cut], rest))[len(row.prompt) - 1:]
        for kept, ids in zip(scaled(logits, OPTIONS) > -torch.inf, row.candidates, strict=True):
            sets.append(kept.nonzero()[:, 0].tolist() == sorted(ids))
            sizes.add(len(ids))
        gaps.append(apart(logits, row))
    return {"rows": len(rows), "versions": sorted({v for r in rows for v in r.versions}), "whole": whole,
            "before": before, "after": after, "other": other, "sets": sum(sets) / len(sets), "gap": max(gaps),
            "sizes": len(sizes)}


def main(folder: str) -> None:
    old, new = models.build("moe", 1), models.build("moe", 2)
    models.save(old, Path(folder))
    print(json.dumps({name: compared(old, new, sampled(folder, new, keeps=keeps), keeps=keeps)
                      for name, keeps in (("reprefill", False), ("keep_state", True))}))


if __name__ == "__main__":
    main(*sys.argv[1:])
