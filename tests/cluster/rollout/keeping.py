"""In a process of its own: an engine that keeps the keys and values of stopped streams over new weights."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from rldsl.backends.cluster import guard

os.environ |= guard.engine_environment(gpu=False)
guard.prepare()

import torch  # noqa: E402

from rldsl.backends.cluster.rollout.engine import VllmEngine  # noqa: E402
from rldsl.backends.cluster.rollout.streams import EngineSpec, Stream  # noqa: E402
from rldsl.backends.cluster.weights import pack  # noqa: E402
from rldsl.runtime.trajectory import Request, SamplingOptions, Trajectory  # noqa: E402
from tests.cluster import models  # noqa: E402

PROMPT, BEFORE = tuple(range(20, 60)), 7
OPTIONS = SamplingOptions(temperature=1.0, max_tokens=48)
OTHERS = replace(OPTIONS, max_tokens=1)


def spec(folder: str, cache: int = 1 << 26) -> EngineSpec:
    return EngineSpec(folder, models.Letters(), models.VOCABULARY, "float32", models.CONTEXT, 5, cache_bytes=cache,
                      keeps=True)


def ended(engine: VllmEngine, streams: list[Stream]) -> dict[int, Trajectory]:
    for each in streams:
        engine.add(each)
    found = {}
    while engine.busy:
        found |= dict(engine.step())
    return found


def crossed(old: Any, new: Any, row: Trajectory) -> torch.Tensor:
    """Log-probs of a row whose first BEFORE tokens are of the old weights, as are the keys and values of everything
    before the last of these: the later ones are computed by the new weights over them."""
    ids, start = torch.tensor([[*row.prompt, *row.tokens]]), len(row.prompt)
    at = start + BEFORE - 1
    with torch.no_grad():
        first = old(ids[:, :at], use_cache=True)
        rest = new(ids[:, at:-1], past_key_values=first.past_key_values, use_cache=True)
    logits = torch.cat((first.logits[0, start - 1:], rest.logits[0]))
    return logits.float().log_softmax(-1).gather(1, ids[0, start:, None]).squeeze(1)


def mu(rows: list[Trajectory]) -> torch.Tensor:
    return torch.tensor([x for r in rows for x in r.logps])


def gap(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a - b).abs().max())


def kept(folder: str, old: Any, new: Any) -> dict:
    """Streams stopped under old weights and taken up under new ones, with others sampled in between."""
    engine = VllmEngine(spec(folder))
    for i in range(8):
        engine.add(Stream(i, Request(i, 3, (*PROMPT, i), 1), OPTIONS, batch=1))
    for _ in range(BEFORE):
        engine.step()
    held = engine.pause()
    busy = engine.busy
    proof = engine.load(1, *pack(models.weights(new), "float32"))
    others = list(ended(engine, [Stream(50 + i, Request(i, 3, (*PROMPT, i), 1), OTHERS, batch=-1)
                                 for i in range(8)]).values())
    rows = [t for t in ended(engine, [replace(s, id=s.id + 100) for s in held]).values() if len(t.tokens) > BEFORE]
    begun = engine.steps
    again = list(ended(engine, [Stream(200, Request(9, 3, (*PROMPT, 9), 1), OPTIONS, batch=2)]).values())
    later = mu(rows)[torch.tensor([v for r in rows for v in r.versions]) == 1]
    plain = models.logps(new, rows)[torch.tensor([v for r in rows for v in r.versions]) == 1]
    return {"held": [len(s.request.prefix.tokens) for s in held], "busy": busy, "proved": proof is not None,
            "rows": len(rows), "versions": [list(r.versions) for r in rows],
            "exact": gap(torch.cat([crossed(old, new, r) for r in rows]), mu(rows)), "new alone": gap(plain, later),
            "others": gap(models.logps(new, others), mu(others)), "again": gap(models.logps(new, again), mu(again)),
            "begun": begun}


def given_up(folder: str, old: Any, new: Any) -> dict:
    """Held streams that nobody takes up, and held streams that leave no room: others are sampled all the same, and what
    has lost its state is computed again."""
    engine = VllmEngine(spec(folder, cache=1 << 19))
    asked = [Stream(i, Request(i, 3, (*PROMPT, *PROMPT, *PROMPT, *PROMPT, i), 1), OPTIONS, batch=1) for i in range(24)]
    for each in asked:
        engine.add(each)
    for _ in range(BEFORE):
        engine.step()
    held = engine.pause()
    engine.load(1, *pack(models.weights(new), "float32"))
    before = len(engine._kept)
    long = [Stream(50 + i, Request(i, 3, (*PROMPT * 4, 70 + i), 1), OTHERS, batch=-1) for i in range(24)]
    others = list(ended(engine, long).values())
    left = len(engine._kept)
    rows = ended(engine, [replace(s, id=s.id + 100) for s in held])
    engine.pause()
    return {"before": before, "left": left, "others": gap(models.logps(new, others), mu(others)),
            "ended": len(rows), "held": len(held), "after": len(engine._kept), "all": len(others)}


def main(folder: str) -> None:
    old, new = models.build("llama", 1), models.build("llama", 2)
    models.save(old, Path(folder))
    print(json.dumps({"kept": kept(folder, old, new), "given up": given_up(folder, old, new)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
