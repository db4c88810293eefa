"""In a process of its own: one vLLM engine, asked for everything that a stream may ask."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

from rldsl.backends.cluster import guard

os.environ |= guard.engine_environment(gpu=False)
guard.prepare()

import torch  # noqa: E402

from rldsl.backends.cluster.rollout.engine import VllmEngine  # noqa: E402
from rldsl.backends.cluster.rollout.streams import EngineSpec, Stream  # noqa: E402
from rldsl.backends.cluster.weights import pack  # noqa: E402
from rldsl.runtime.errors import RunError  # noqa: E402
from rldsl.runtime.trajectory import Request, SamplingOptions  # noqa: E402
from tests.cluster import models  # noqa: E402

PROMPT = tuple(range(20, 60))
PLAIN = SamplingOptions(temperature=1.0, max_tokens=32)


def stream(i: int, options: SamplingOptions = PLAIN, **kwargs) -> Stream:
    return Stream(i, Request(i % 4, 3, (*PROMPT, i % 4), 1, first=i // 4), options, batch=1, **kwargs)


def run(engine: VllmEngine, streams: list[Stream]) -> dict:
    for each in streams:
        engine.add(each)
    found = {}
    while engine.busy:
        found |= dict(engine.step())
    return found


def refusal(engine: VllmEngine, options: SamplingOptions) -> list[str]:
    try:
        engine.add(stream(900, options))
    except RunError as error:
        engine.pause()
        return [error.diagnostic.code, error.diagnostic.message]
    return []


def stops(engine: VllmEngine, plain: dict) -> dict:
    """A text that is in a response ends it with the token that completes it."""
    whole = max(plain.values(), key=lambda t: len(t.tokens))
    number = next(i for i, t in plain.items() if t is whole)
    text = whole.text[4:6]
    cut = run(engine, [stream(number, replace(PLAIN, stop=(text,)))])[number]
    return {"text": text, "whole": whole.text, "cut": cut.text, "finish": cut.finish,
            "begins": whole.tokens[:len(cut.tokens)] == cut.tokens}


def cut_and_resumed(engine: VllmEngine, old, new) -> dict:
    """Streams stopped after some steps, taken up again under other weights; and some that a load finds under way."""
    long = replace(PLAIN, max_tokens=60)
    for i in range(8):
        engine.add(stream(i, long))
    for _ in range(5):
        engine.step()
    held = engine.pause()
    proof = engine.load(1, *pack(models.weights(new), "float32"))
    for each in held:
        engine.add(each)
    for _ in range(5):
        engine.step()
    engine.load(2, *pack(models.weights(old), "float32"))
    found = {}
    while engine.busy:
        found |= dict(engine.step())
    rows = [t for t in found.values() if len(t.tokens) > 12]
    by_version = {}
    for model, versions in ((old, (0, 2)), (new, (1,))):
        exact = models.logps(model, rows)
        mu = torch.tensor([x for r in rows for x in r.logps])
        at = torch.tensor([v in versions for r in rows for v in r.versions])
        by_version[str(versions)] = float((exact - mu)[at].abs().max())
    return {"held": [len(s.request.prefix.tokens) for s in held], "proved": proof is not None, "gaps": by_version,
            "versions": [list(r.versions) for r in rows], "rows": len(rows)}


def crowded(engine: VllmEngine, model) -> list:
    """More prompt tokens at once than one step computes: how many responses ended, and the gap to the model."""
    short = replace(PLAIN, max_tokens=2)
    asked = [Stream(i, Request(i, 3, (1 + i, *PROMPT * 5), 1), short, batch=2) for i in range(60)]
    found = run(engine, asked)
    mu = torch.tensor([x for t in found.values() for x in t.logps])
    return [len(found), float((models.logps(model, list(found.values())) - mu).abs().max())]


def main(folder: str) -> None:
    old, new = models.build("llama", 1), models.build("llama", 2)
    models.save(old, Path(folder))
    engine = VllmEngine(EngineSpec(folder, models.Letters(), models.VOCABULARY, "float32", models.CONTEXT, 5,
                                   cache_bytes=1 << 26))
    together = run(engine, [stream(i) for i in range(16)])
    alone = {i: run(engine, [stream(i)])[i] for i in (3, 10)}
    truncated = replace(PLAIN, temperature=0.7, top_k=20, top_p=0.9)
    narrow = run(engine, [stream(i, truncated) for i in range(4)])
    greedy = run(engine, [stream(1, greedy=True)])[1]
    with torch.no_grad():
        best = int(old(torch.tensor([greedy.prompt])).logits[0, -1].argmax())
    mu = torch.tensor([x for t in together.values() for x in t.logps])
    print(json.dumps({
        "gap": float((models.logps(old, list(together.values())) - mu).abs().max()),
        "alone": [together[i].tokens == alone[i].tokens for i in alone],
        "rounding": max(abs(a - b) for i in alone for a, b in zip(together[i].logps, alone[i].logps, strict=True)),
        "different": len({t.tokens for t in together.values()}),
        "finishes": sorted({t.finish for t in together.values()}),
        "ends": [[t.finish, t.tokens[-1], models.EOS in t.tokens[:-1], len(t.tokens)] for t in together.values()],
        "foreign ends": sum(t.tokens[-1] in (7, 8, 9) and len(t.tokens) < 32 for t in together.values()),
        "narrow": max(float(x) for t in narrow.values() for x in t.logps),
        "greedy": [greedy.tokens[0] == best, set(greedy.logps) == {0.0}],
        "refused": refusal(engine, replace(PLAIN, temperature=0.005)),
        "stops": stops(engine, together), "crowded": crowded(engine, old), "resumed": cut_and_resumed(engine, old, new),
    }))


if __name__ == "__main__":
    main(*sys.argv[1:])
