"""A run without a model: an engine that answers from a table, on plain Python lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rldsl.algebra.variables import LOGP
from rldsl.axes.discover import find
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.graph import Graph
from rldsl.compiler.plan import Plan
from rldsl.compiler.resolve import resolve
from rldsl.runtime.batch import PlainMath
from rldsl.runtime.control import Terms
from rldsl.runtime.journal import Event, Journal, read_journal
from rldsl.runtime.ledger import Ledger
from rldsl.runtime.prompts import Prompts
from rldsl.runtime.protocols import UpdateJob
from rldsl.runtime.run import Progress, Run, Settings
from rldsl.runtime.scoring import ScoreItem, ScoreResult
from rldsl.runtime.tally import Tally
from rldsl.runtime.trajectory import Request, SamplingOptions, Trajectory

AXES = {"feedback": "verify(exact)", "sampling": "group(4, max_tokens: 4)", "advantage": "group_mean",
        "ratio": "token(current / old)", "gate": "clip(0.2)", "reduction": "token_mean", "distribution": "on_policy",
        "system": "sync on colocated"}
BLOCKS = """model { policy: "toy:llama-1x16" }
data { train: "toy:copy", prompts: 4 }
optim { adamw(lr: 1e-3), updates_per_batch: 2 }
budget { steps: 3 }
evaluate { "toy:copy", every: 2, problems: 32 }
"""

Answer = Callable[[Request, int], str]


@dataclass(frozen=True)
class FakeProblem:
    prompt: str
    answer: str = "yes"
    metadata: dict = field(default_factory=dict)


@dataclass
class FakeEngine:
    """Sampler and trainer. `answer` gives a response's text; a token is a letter; every update is remembered."""

    answer: Answer
    version: int = 0
    math: PlainMath = field(default_factory=PlainMath)
    jobs: list[UpdateJob] = field(default_factory=list)
    asked: list[tuple[str, int]] = field(default_factory=list)
    weights: int = 0
    grad_norm: float = 1.0
    forgotten: int = 0

    def sample(self, requests: Sequence[Request], options: SamplingOptions, *, batch: int,
               greedy: bool = False) -> list[Trajectory]:
        self.asked.append(("sample", len(requests)))
        found = []
        for r in requests:
            for sibling in range(r.siblings):
                text = self.answer(r, sibling)
                cut = text[:options.max_tokens]
                found.append(Trajectory(r.group, sibling, r.row, r.prompt, tuple(map(ord, cut)), (-1.0,) * len(cut),
                                        (self.version,) * len(cut), "length" if len(text) > len(cut) else "stop", cut))
        return found

    def logprobs(self, policy, rows, wants, options):
        self.asked.append((policy, len(rows)))
        return {name: [-1.0] * sum(len(r.tokens) for r in rows) for name in wants}

    def values(self, rows, options):
        self.asked.append(("values", len(rows)))
        return [0.5] * sum(len(r.tokens) for r in rows)

    def update(self, job: UpdateJob) -> Tally:
        self.jobs.append(job)
        self.weights += bool(self.grad_norm)
        tally = Tally()
        tally.add("grad_norm", self.grad_norm)
        return tally

    def publish(self) -> str:
        self.version += 1
        return str(self.weights)

    def export(self) -> int:
        return self.weights

    def forget(self) -> None:
        self.forgotten += 1

    def save(self, folder: Path) -> None:
        (folder / "weights.txt").write_text(f"{self.weights}")

    def load(self, folder: Path, version: int) -> None:
        self.weights, self.version = int((folder / "weights.txt").read_text()), version


def plan_of(tmp_path: Path, *sets: str, **axes: str) -> Plan:
    """A compiled recipe: plain axes, changed by name, and changes as `--set` takes them."""
    file = tmp_path / "fake.rl"
    written = "\n".join(f"{axis} = {text}" for axis, text in {**AXES, **axes}.items())
    file.write_text(f"recipe fake {{\n{written}\n{BLOCKS}}}\n")
    return compile_recipe(resolve(str(file), sets=list(sets)))[0]


def score(items: Sequence[ScoreItem]) -> list[list[ScoreResult]]:
    """1 for the answer, 0 for anything else, no score for "?"."""
    def one(item: ScoreItem) -> ScoreResult:
        if item.text == "?":
            return ScoreResult(None, "cannot be judged", 0.0)
        return ScoreResult(float(item.text == item.answer), None, 0.0)

    return [[one(item)] for item in items]


def run_of(plan: Plan, folder: Path, answer: Answer, *, problems: int = 32, steps: int = 3,
           graph: Graph | None = None, **settings) -> Run:
    """A run of a plan over a fake engine; its journal is in `folder`."""
    engine = FakeEngine(answer)
    source = [FakeProblem(f"p{i}") for i in range(problems)]
    data = Prompts(source, lambda text: tuple(map(ord, text)), range(problems), 0)
    known = replace(Settings(prompts=4, steps=steps, lr=1e-3, lr_schedule="constant", warmup_steps=0, critic_warmup=0,
                             seed=0), **settings)
    terms = Terms(known.prompts, 4, known.steps)
    return Run(folder, plan.objective, graph or plan.graph, find("system", "sync")(), terms, known,
               engine, engine, data, {"toy:copy": data}, score, Journal(folder), Progress(Ledger(problems, 0)),
               lambda *_: None, fresh=True)


def events(run: Run, kind: str) -> list[Event]:
    """The journal's events of one kind."""
    return [e for e in read_journal(run.folder) if e.kind == kind]


def reads(job: UpdateJob, name: str) -> list[float]:
    """A column of an update."""
    return list(job.batch.columns[name].data)


__all__ = ["LOGP", "FakeEngine", "FakeProblem", "events", "plan_of", "reads", "run_of", "score"]
