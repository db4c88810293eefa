"""Whether engines give a token's log-prob with the same bits: one engine with itself, and those that sample with those
that train. Equal weights, float32, temperature 1.

    python benchmarks/equal_bits.py [ROWS]

The weights are those of kappa.py. vLLM samples the rows 16 streams at a time; every line is about the same tokens.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rldsl.backends.cluster import guard

ENGINE = "engine"
if sys.argv[1:2] == [ENGINE]:  # before anything imports vLLM
    os.environ |= guard.engine_environment(gpu=False)
    guard.prepare()

import torch  # noqa: E402
from kappa import SAMPLING, SEED, dense, started, write_dense  # noqa: E402

from rldsl.backends.cluster.megatron.layout import Parallel  # noqa: E402
from rldsl.backends.cluster.placement import TRAIN, Role, reserve  # noqa: E402
from rldsl.backends.cluster.ray_session import ray_session  # noqa: E402
from rldsl.backends.cluster.training.trainer import ClusterTrainer  # noqa: E402
from rldsl.backends.local.decoder.numerics import numerics  # noqa: E402
from rldsl.backends.local.formats.tokenizer import CharacterTokenizer  # noqa: E402
from rldsl.backends.local.sampling.sampler import sample  # noqa: E402
from rldsl.backends.local.training.forward import forward  # noqa: E402
from rldsl.runtime.protocols import Cutting  # noqa: E402
from rldsl.runtime.trajectory import Request, Trajectory  # noqa: E402

TOGETHER = 16
WANTED = ("logp_current",)
Log = Sequence[float]


def main() -> None:
    if sys.argv[1:2] == [ENGINE]:
        print(json.dumps(from_vllm(sys.argv[2], int(sys.argv[3]))))
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 32
    print("| log-probs of | and of | tokens | equal bits | largest difference |")
    print("| --- | --- | ---: | ---: | ---: |", flush=True)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        write_dense(folder)
        done = subprocess.run([sys.executable, __file__, ENGINE, str(folder), str(count)], stdout=subprocess.PIPE,
                              text=True, check=True)
        vllm = json.loads(done.stdout.splitlines()[-1])
        rows = [Trajectory(i, 0, i, tuple(prompt), tuple(tokens), tuple(logps), (0,) * len(tokens), "length", "")
                for i, (prompt, tokens, logps) in enumerate(vllm["rows"])]
        decoded = [x for r in rows for x in r.logps]
        told("vLLM, decoded 16 together", "vLLM, decoded alone", *same(vllm["rows"], vllm["alone"]))
        told("vLLM, decoded 16 together", "vLLM, read at once, 16 together", decoded, vllm["read"])
        told("vLLM, read at once, 16 together", "vLLM, read at once, alone", vllm["read"], vllm["read alone"])
        trained = dict(from_megatron(folder, rows))
        alone = trained["tp 1, each row alone"]
        for name, found in trained.items():
            told("vLLM, decoded 16 together", f"Megatron, {name}", decoded, found)
        told("vLLM, read at once, alone", "Megatron, tp 1, each row alone", vllm["read alone"], alone)
        for name in ("tp 1, packed", "tp 2, each row alone"):
            told("Megatron, tp 1, each row alone", f"Megatron, {name}", alone, trained[name])
        embedded(len(rows))


def told(one: str, other: str, a: Log, b: Log) -> None:
    """One line of the table."""
    left, right = (torch.tensor(x, dtype=torch.float64) for x in (a, b))
    gap = (left - right).abs()
    print(f"| {one} | {other} | {len(gap):,} | {float((gap == 0).double().mean()):.1%} | {float(gap.max()):.1e} |",
          flush=True)


def same(rows: list, others: list) -> tuple[Log, Log]:
    """The log-probs of those tokens that were drawn after equal ones, and are equal."""
    found: tuple[list[float], list[float]] = ([], [])
    for (_, tokens, logps), (_, again, more) in zip(rows, others, strict=True):
        for token, other, x, y in zip(tokens, again, logps, more, strict=False):
            if token != other:
                break
            found[0].append(x)
            found[1].append(y)
    return found


def requests(count: int) -> list[Request]:
    prompts = torch.randint(1, CharacterTokenizer().size, (count, 12), generator=torch.Generator().manual_seed(SEED))
    return [Request(i, i, tuple(p), 1) for i, p in enumerate(prompts.tolist())]


def from_vllm(folder: str, count: int) -> dict:
    """Rows sampled together and alone, and what vLLM says of the former when it reads them as prompts."""
    from vllm import SamplingParams

    from rldsl.backends.cluster.rollout.engine import VllmEngine
    from rldsl.backends.cluster.rollout.streams import EngineSpec, Stream

    tokenizer = CharacterTokenizer()
    engine = VllmEngine(EngineSpec(folder, tokenizer, tokenizer.size, "float32", 256, SEED))
    streams = [Stream(i, r, SAMPLING, 0) for i, r in enumerate(requests(count))]

    def sampled(size: int, first: int) -> list:
        found = {}
        for start in range(0, count, size):
            for each in streams[start:start + size]:
                engine.add(replace(each, id=first + each.id))
            while engine.busy:
                found |= dict(engine.step())
        return [(t.prompt, t.tokens, t.logps) for _, t in sorted(found.items())]

    def read(rows: list, size: int, first: int) -> list[float]:
        inner, found = engine._engine, {}
        for start in range(0, count, size):
            for i, (prompt, tokens, _) in enumerate(rows[start:start + size], start):
                params = SamplingParams(temperature=1.0, max_tokens=1, prompt_logprobs=0, detokenize=False)
                inner.add_request(str(first + i), {"prompt_token_ids": [*prompt, *tokens]}, params)
            while inner.has_unfinished_requests():
                found |= {int(o.request_id) - first: o.prompt_logprobs for o in inner.step() if o.finished}
        return [found[i][len(prompt) + t][token].logprob for i, (prompt, tokens, _) in enumerate(rows)
                for t, token in enumerate(tokens)]

    rows = sampled(TOGETHER, 0)
    return {"rows": rows, "alone": sampled(1, 1000), "read": read(rows, TOGETHER, 2000),
            "read alone": read(rows, 1, 3000)}


def from_megatron(folder: Path, rows: list[Trajectory]) -> Iterator[tuple[str, Log]]:
    """(layout and packing, log-probs of all tokens)."""
    with ray_session(None, 4):
        reserved = reserve((Role(TRAIN, 2),))
        for layout, parallel in (("tp 1", Parallel()), ("tp 2", Parallel(tensor=2))):
            ranks = started(folder, "float32", False, parallel, reserved)
            trainer = ClusterTrainer(ranks, lambda *weights: "", "float32")
            for packing, limit in (("packed", None), ("each row alone", 1)):
                yield f"{layout}, {packing}", trainer.logprobs("current", rows, WANTED, Cutting(limit, True, True))[
                    WANTED[0]].tolist()
            ranks.end()


def embedded(count: int) -> None:
    """The lines of the embedded backend, on its own tokens."""
    policy = dense()

    def computed(mine: list[Trajectory], limit: int | None) -> Log:
        return forward(policy, mine, frozenset(WANTED), SAMPLING, grad=False, micro_tokens=limit)[WANTED[0]].tolist()

    asked = requests(count)
    own = [sample(policy, asked[i:i + TOGETHER], SAMPLING, seed=SEED, batch=0, version=0)
           for i in range(0, count, TOGETHER)]
    alone = [sample(policy, [r], SAMPLING, seed=SEED, batch=0, version=0) for r in asked]
    together, single = ([t for part in parts for t in part] for parts in (own, alone))
    decoded = [x for t in together for x in t.logps]
    told("embedded, decoded 16 together", "embedded, decoded alone",
         *same(*([(t.prompt, t.tokens, t.logps) for t in each] for each in (together, single))))
    told("embedded, decoded 16 together", "embedded, trained, one piece", decoded, computed(together, None))
    told("embedded, decoded 16 together", "embedded, trained, each row alone", decoded, computed(together, 1))
    told("embedded, trained, one piece", "embedded, trained, each row alone", computed(together, None),
         computed(together, 1))
    policy.numerics = numerics({"bit_equal": True})
    for size in (len(asked), TOGETHER, 1):
        parts = [sample(policy, asked[i:i + size], SAMPLING, seed=SEED, batch=0, version=0)
                 for i in range(0, count, size)]
        rows = [t for part in parts for t in part]
        drawn = [x for t in rows for x in t.logps]
        for name, limit in (("one piece", None), ("each row alone", 1)):
            told(f"embedded with `bitwise`, sampled {size} together", f"the same, trained, {name}", drawn,
                 computed(rows, limit))


if __name__ == "__main__":
    main()
