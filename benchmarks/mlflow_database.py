"""How long MLflow's SQLite database takes to answer when a sweep of many runs is in it.

    python benchmarks/mlflow_database.py [--children 200] [--steps 20]

A tiny recipe is trained once; its journal is then uploaded as a sweep's children, each with its own point, seed and
identity, by the code that uploads every run. The queries are those that MLflow's pages and `rldsl` ask. The database is
read in this process, so its CPU time is what a query takes on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rldsl.cli.main import main as rldsl
from rldsl.runtime.journal import Journal, read_journal
from rldsl.runtime.tracking import SETTINGS_FILE, default_uri
from rldsl.runtime.tracking_uploader import ENVIRONMENT

RECIPE = """recipe tiny {
  feedback     = verify(exact)
  sampling     = group(4, max_tokens: 6)
  advantage    = group_norm
  ratio        = token(current / old)
  gate         = clip(0.2)
  reduction    = token_mean
  distribution = on_policy
  system       = sync on colocated
  model    { policy: "toy:llama-1x16" }
  data     { train: "toy:largest", prompts: 4 }
  optim    { adamw(lr: 1e-3), updates_per_batch: 2 }
  budget   { steps: STEPS }
  evaluate { "toy:largest", every: 10, problems: 5 }
  track    { mlflow: none }
}
"""
REPEATS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--children", type=int, default=200)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    os.environ.update(ENVIRONMENT)
    logging.disable(logging.INFO)
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        (root / "tiny.rl").write_text(RECIPE.replace("STEPS", str(args.steps)), encoding="utf-8")
        assert rldsl(["run", str(root / "tiny.rl"), "--out", str(root / "one")]) == 0
        parent, spent, metrics = upload(root, args.children)
        size, usual, last = ((root / "mlflow.db").stat().st_size / 1e6, statistics.median(spent),
                             statistics.median(spent[-10:]))
        print(f"\n{args.children} children, {metrics} metric values each, uploaded in {usual:.2f} CPU s a run (the "
              f"last ten: {last:.2f} s); the database has {size:.0f} MB\n")
        print("| query | CPU ms, median | wall ms, median | wall ms, slowest |\n| --- | ---: | ---: | ---: |")
        for what, times in asked(root, parent).items():
            cpu, wall = zip(*times, strict=True)
            print(f"| {what} | {statistics.median(cpu) * 1e3:.0f} | {statistics.median(wall) * 1e3:.0f} | "
                  f"{max(wall) * 1e3:.0f} |")


def upload(root: Path, children: int) -> tuple[str, list[float], int]:
    """The parent's id, CPU seconds for each child, and how many metric values a child has."""
    events = [e for e in read_journal(root / "one") if e.kind != "artifact"]
    metrics = sum(len(e.data["metrics"]) for e in events if e.kind in ("step", "evaluate"))
    parent, _ = one(root, "parent", [("start", {"name": "sweep"}), ("end", {"status": "FINISHED"})], None)
    spent = []
    for number in range(children):
        first = events[0].data
        point = {"gate.high": str(0.2 + number // 2 / 1000), "seed": number % 2}
        start = {**first, "params": {**first["params"], "point": point}, "artifacts": []}
        rest = [(e.kind, e.data) for e in events[1:]]
        spent.append(one(root, f"child-{number:03d}", [("start", start), *rest], "parent")[1])
    return parent, spent, metrics


def one(root: Path, name: str, events: list[tuple[str, Any]], parent: str | None) -> tuple[str, float]:
    """Uploads one run: its id and the CPU seconds it took."""
    from rldsl.runtime.tracking import TrackingSettings
    from rldsl.runtime.tracking_mlflow import Upload

    with Journal(root / name) as journal:
        for kind, data in events:
            journal.append(kind, **data)
    above = str(root / parent) if parent else None
    settings = TrackingSettings(default_uri(root), "sweep", name, parent=above, id=name)
    (root / name / SETTINGS_FILE).write_text(json.dumps(vars(settings)), encoding="utf-8")
    begun = time.process_time()
    work = Upload(root / name, settings)
    work.pump()
    work.close("FINISHED", time.time())
    return work.state.run_id, time.process_time() - begun


def asked(root: Path, parent: str) -> dict[str, list[tuple[float, float]]]:
    """{query: (CPU, wall) seconds of each repetition}."""
    from mlflow import MlflowClient

    client = MlflowClient(default_uri(root))
    where = [client.get_experiment_by_name("sweep").experiment_id]
    runs = client.search_runs(where, max_results=1000)
    some = [r.info.run_id for r in runs if r.info.run_id != parent][:10]
    queries: dict[str, Callable[[], Any]] = {
        "the experiment's first 100 runs": lambda: client.search_runs(where, max_results=100),
        "all of its runs": lambda: client.search_runs(where, max_results=1000),
        "the children of the sweep": lambda: client.search_runs(where, f"tags.mlflow.parentRunId = '{parent}'",
                                                                max_results=1000),
        "runs at one point": lambda: client.search_runs(where, "params.`point.gate.high` = '0.201'"),
        "runs by a metric, best first": lambda: client.search_runs(
            where, "metrics.`reward/mean` >= 0", order_by=["metrics.`held_out/score` DESC"], max_results=100),
        "one run with all its last values": lambda: client.get_run(some[0]),
        "a curve of ten runs": lambda: [client.get_metric_history(r, "reward/mean") for r in some],
    }
    return {what: [timed(query) for _ in range(REPEATS)] for what, query in queries.items()}


def timed(query: Callable[[], Any]) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    assert query()
    return time.process_time() - cpu, time.perf_counter() - wall


if __name__ == "__main__":
    main()
