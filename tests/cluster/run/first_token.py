"""In a process of its own: the importance weights of a first batch before anything is trained."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rldsl.backends.cluster.launch import open_run
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.resolve import resolve
from rldsl.runtime.protocols import Cutting
from rldsl.runtime.stages_data import sampling_options
from rldsl.runtime.trajectory import Request


def main(file: str, folder: str) -> None:
    plan, _ = compile_recipe(resolve(file))
    with open_run(plan, Path(folder), Path(file).parent, lambda *_: None, resume=False) as run:
        options = sampling_options(run.graph.of("sample")[0])
        requests = [Request(i, i, run.data.tokens(i), 8) for i in range(32)]
        rows = run.rollout.sample(requests, options, batch=0)
        found = run.trainer.logprobs("current", rows, ("logp_current",), Cutting(None, True, True))["logp_current"]
        weights = [(ours - row_logp).exp().item() for ours, row_logp in
                   zip(found.double(), (x for r in rows for x in r.logps), strict=True)]
    starts = [sum(len(r.tokens) for r in rows[:i]) for i in range(len(rows))]
    print(json.dumps({"rows": len(rows), "first": [weights[i] for i in starts], "all": weights,
                      "surprise": -sum(x for r in rows for x in r.logps) / len(weights)}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
