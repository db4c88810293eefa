"""In a process of its own: one vLLM engine, loaded from a folder, given new weights, compared with transformers."""

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
from rldsl.runtime.trajectory import Request, SamplingOptions  # noqa: E402
from tests.cluster import models  # noqa: E402

OPTIONS = SamplingOptions(temperature=0.8, max_tokens=24)
PROMPT = tuple(range(20, 60))  # longer than a block, so that prefix caching would show


def sampled(engine: VllmEngine, first: int) -> list:
    for i in range(first, first + 8):
        engine.add(Stream(i, Request(i % 2, 0, (*PROMPT, i % 2), 1, first=i), OPTIONS, batch=0))
    found = []
    while engine.busy:
        found += [t for _, t in engine.step()]
    return found


def gap(model, rows) -> float:
    mu = torch.tensor([x for r in rows for x in r.logps])
    return float((models.logps(model, rows, OPTIONS.temperature) - mu).abs().max())


def main(kind: str, folder: str) -> None:
    old, new = models.build(kind, 1), models.build(kind, 2)
    models.save(old, Path(folder))
    spec = EngineSpec(folder, models.Letters(), models.VOCABULARY, "float32", models.CONTEXT, 5, cache_bytes=1 << 26,
                      routes=kind == "moe")
    engine = VllmEngine(spec)
    before = sampled(engine, 0)
    manifest, flat = pack(models.weights(new), "float32")
    held = engine.load(1, manifest, flat)
    after = sampled(engine, 8)
    again = engine.load(2, *pack(models.weights(old), "float32"))
    back = sampled(engine, 16)
    wrong = flat.copy()
    wrong[5] ^= 64
    refused = engine.load(3, manifest, wrong)
    print(json.dumps({
        "before": gap(old, before), "after": gap(new, after), "back": gap(old, back), "apart": gap(old, after),
        "proved": held == manifest.fingerprint, "again": again is not None and again != held, "refused": refused,
        "versions": sorted({v for r in after for v in r.versions}), "tokens": sum(len(r.tokens) for r in after),
    }))


if __name__ == "__main__":
    main(*sys.argv[1:])
