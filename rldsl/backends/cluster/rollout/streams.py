"""What passes between the run and the processes that sample for it: plain data."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from rldsl.diagnostics import Diagnostic
from rldsl.runtime.trajectory import Request, SamplingOptions, Trajectory


@dataclass(frozen=True)
class EngineSpec:
    """What an engine is built from. `folder` is a Hugging Face model folder; `tokenizer` has `eos` and `decode`;
    `vocabulary` counts token ids; prompt and response together have at most `context` tokens. `parallel` devices hold
    one copy of the model; `gpu` says whether they are GPUs. `cache_bytes` is for keys and values, on CPU only. With
    `routes` every response comes with the experts of its tokens, with `candidates` with what each of them was chosen
    from; a `wide` head multiplies in float32; one that `keeps` goes on with a stopped stream from the keys and values
    that it has of it. `sets` engines share the devices, each with weights of its own."""

    folder: str
    tokenizer: Any
    vocabulary: int
    dtype: str
    context: int
    seed: int
    parallel: int = 1
    gpu: bool = False
    cache_bytes: int = 1 << 28
    routes: bool = False
    wide: bool = False
    keeps: bool = False
    sets: int = 1
    candidates: bool = False


@dataclass(frozen=True)
class Stream:
    """One response to be sampled: `request` asks for one sibling. `id` is unique in a run's session."""

    id: int
    request: Request
    options: SamplingOptions
    batch: int
    greedy: bool = False

    @property
    def place(self) -> tuple[int, int, int]:
        """(batch, group, sibling): the same after a pause."""
        return self.batch, self.request.group, self.request.first

    def seed(self, of_run: int) -> int:
        """Where this stream's random numbers begin: the same wherever and beside whatever it is sampled."""
        r = self.request
        text = f"{of_run}/{self.batch}/{r.group}/{r.first}/{len(r.prefix.tokens)}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1


@dataclass(frozen=True)
class Report:
    """What an engine says of itself: finished streams with their ids, a count that grows with every step it takes,
    and what ended it, if something did."""

    finished: tuple[tuple[int, Trajectory], ...]
    progress: int
    failure: Diagnostic | None = None
