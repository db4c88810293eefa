"""One vLLM engine in this process: streams in, finished trajectories out, weights replaced between two steps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from rldsl.backends.cluster.weights import Manifest, agree
from rldsl.runtime.errors import RunError
from rldsl.runtime.trajectory import Prefix, Trajectory

from .kept_streams import KeptStreams
from .reload import keep_weights_readable
from .settings import differs, require_same, stated
from .streams import EngineSpec, Stream

RECEIVER = "rldsl.backends.cluster.rollout.reload.WeightReceiver"
BLOCK = 32
"""Tokens of one block of keys and values on CPU: shared prompts are found in whole blocks."""
SEQUENCES = 256
"""Streams that one engine decodes at a time; more wait in it."""
DEVICE_SHARE = 0.92
"""Of the memory of a GPU, what its engines take together: vLLM's default for one."""
STEP_TOKENS = 4096
"""Tokens that one step of an engine on CPU computes at most: prompts beyond it wait for the next."""


@dataclass(frozen=True)
class _Recorded:
    """What the worker noted of a stream: the experts [computed tokens, layers, k] of every token that it has computed,
    the candidates of every token that it has sampled since it was last asked; None where nobody wants them."""

    routes: np.ndarray | None = None
    candidates: Sequence[np.ndarray] | None = None


NOTHING = _Recorded()


@dataclass
class _Live:
    """A stream under way, `inside` as the engine calls it: what was sampled since its prefix."""

    stream: Stream
    inside: str
    params: dict[str, Any]
    tokens: list[int] = field(default_factory=list)
    logps: list[float] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)

    def whole(self, recorded: _Recorded = NOTHING) -> Prefix:
        """Everything of the response so far. Of the experts, those count that were not chosen before a pause: what is
        computed again was sampled with the old ones. A greedy token has no candidate beside itself."""
        request, old = self.stream.request, self.stream.request.prefix
        tokens = old.tokens + tuple(self.tokens)
        routes, candidates = old.routes, old.candidates
        if recorded.routes is not None:
            new = recorded.routes[len(routes):len(request.prompt) + max(len(tokens) - 1, 0)]
            routes = (*routes, *(tuple(map(tuple, token)) for token in new.tolist()))
        if recorded.candidates is not None:
            sets = ([t] for t in self.tokens) if self.greedy else (
                ids.tolist() for ids in recorded.candidates[:len(self.tokens)])
            candidates = (*candidates, *map(tuple, sets))
        return Prefix(tokens, old.logps + tuple(self.logps), old.versions + tuple(self.versions), candidates, routes)

    @property
    def greedy(self) -> bool:
        """Whether the most likely token has all the probability."""
        return self.params["temperature"] == 0


class VllmEngine:
    """Built in the thread that uses it. `steps` counts what it has done, for whoever watches over it."""

    def __init__(self, spec: EngineSpec):
        from vllm.engine.arg_utils import EngineArgs
        from vllm.v1.engine.llm_engine import LLMEngine

        if not spec.gpu:
            keep_weights_readable()
        self.spec, self.version, self.steps, self._loads = spec, 0, 0, 0
        self._live: dict[int, _Live] = {}  # by the name that the engine answers with
        self._engine = LLMEngine.from_engine_args(EngineArgs(**_arguments(spec)))
        self._core = self._engine.engine_core.engine_core
        self._kept = KeptStreams(self._core.scheduler, self._abort)
        model = self._engine.vllm_config.model_config
        head = torch.float32 if spec.wide else model.dtype
        for name, wanted in (("logprobs_mode", "processed_logprobs"), ("max_model_len", spec.context),
                             ("head_dtype", head)):
            if getattr(model, name) != wanted:
                raise differs(name, getattr(model, name), wanted, "vLLM")
        if spec.routes:
            self._engine.collective_rpc("record_routes")
        if spec.candidates:
            self._engine.collective_rpc("record_candidates")

    @property
    def busy(self) -> bool:
        """Whether a step would do something."""
        return bool(self._live)

    def add(self, stream: Stream) -> None:
        """Takes a stream in, or up again. RunError RL608 where the engine does not take its settings as they are."""
        if (held := self._kept.take_up(stream)) is not None:
            name, live = held
            self._live[name] = _Live(stream, live.inside, live.params)
            return
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        request, tokenizer = stream.request, self.spec.tokenizer
        params = stated(stream.options, greedy=stream.greedy, eos=tokenizer.eos, seed=stream.seed(self.spec.seed),
                        done=len(request.prefix.tokens))
        said = SamplingParams(**params, detokenize=False, output_kind=RequestOutputKind.DELTA)
        inside = self._engine.add_request(
            str(stream.id), {"prompt_token_ids": [*request.prompt, *request.prefix.tokens],
                             "cache_salt": str(self._loads)}, said)
        try:
            require_same(params, self._core.scheduler.requests[inside].sampling_params, "vLLM")
        except RunError:
            self._abort([stream.id])
            raise
        self._live[stream.id] = _Live(stream, inside, params)

    def step(self) -> list[tuple[int, Trajectory]]:
        """One token for every running stream; those that ended with it."""
        ended, outputs = [], self._engine.step()
        if not outputs:  # what is held leaves no room for anybody
            self._kept.give_up(1)
        for output in outputs:
            live = self._live[int(output.request_id)]
            finish = _take(live, output, self.version, self.spec.tokenizer)
            if finish is None:
                continue
            if not output.finished:
                self._engine.abort_request([output.request_id])
            del self._live[int(output.request_id)]
            ended.append((live, finish))
        self.steps += 1
        recorded = self._recorded([live for live, _ in ended])
        return [(live.stream.id, _trajectory(live, finish, self.spec.tokenizer, found))
                for (live, finish), found in zip(ended, recorded, strict=True)]

    def _recorded(self, streams: Sequence[_Live], kept: Sequence[_Live] = ()) -> list[_Recorded]:
        """What was recorded of each stream, which is then forgotten, but for the experts of those that are `kept`."""
        names, stay = [live.inside for live in streams], [live.inside for live in kept]
        routes = self._asked(self.spec.routes, "routes", names, stay)
        candidates = self._asked(self.spec.candidates, "candidates", names)
        return [_Recorded(routes.get(name), candidates.get(name)) for name in names]

    def _asked(self, wanted: bool, method: str, names: list[str], *more: list[str]) -> dict[str, Any]:
        """The worker's answer; nothing where nobody wants it."""
        return self._engine.collective_rpc(method, args=(names, *more))[0] if wanted and names else {}

    def pause(self, only: Collection[int] | None = None) -> list[Stream]:
        """Stops every stream, or only these; each comes back with what it has so far as its prefix. An engine that
        keeps goes on from its own state where the stream is added again before the next pause."""
        self._kept.give_up()
        return self._stop(only)

    def _stop(self, only: Collection[int] | None = None) -> list[Stream]:
        stopped = {name: live for name, live in self._live.items() if only is None or live.stream.id in only}
        self._live = {name: live for name, live in self._live.items() if name not in stopped}
        kept = self._kept.hold(stopped) if self.spec.keeps else set()
        self._abort([name for name in stopped if name not in kept])
        recorded = self._recorded(list(stopped.values()), [stopped[name] for name in kept])
        return [replace(live.stream, request=replace(live.stream.request, prefix=live.whole(found)))
                for live, found in zip(stopped.values(), recorded, strict=True)]

    def _abort(self, names: Sequence[int]) -> None:
        self._engine.abort_request([str(name) for name in names])

    def load(self, version: int, manifest: Manifest, flat: np.ndarray) -> str | None:
        """Replaces the weights and forgets every cached prompt; streams under way go on with them, their tokens so
        far as a prefix. The fingerprint of what is held then; None where it is not the manifest's, or a cached prompt
        stayed. Beside kept streams prompts stay, and nobody finds them: what is cached is looked up by load."""
        if manifest.dtype != self.spec.dtype:
            raise differs("dtype", self.spec.dtype, manifest.dtype, "vLLM")
        held = self._stop()
        found = self._engine.collective_rpc("receive", args=(manifest, flat))
        forgotten = len(self._kept) > 0 or self._engine.reset_prefix_cache()
        self.version, self._loads = version, self._loads + 1
        self._engine.set_weight_version(str(version))
        for stream in held:
            self.add(stream)
        return manifest.fingerprint if forgotten and agree(manifest.sums, found) else None


def _arguments(spec: EngineSpec) -> dict[str, Any]:
    """vLLM's engine arguments. The model folder's own generation settings are not read (`generation_config`)."""
    common = {
        "model": spec.folder, "skip_tokenizer_init": True, "generation_config": "vllm", "dtype": spec.dtype,
        "max_model_len": spec.context, "max_num_seqs": SEQUENCES, "seed": spec.seed % (1 << 32),
        "logprobs_mode": "processed_logprobs", "enable_prefix_caching": not spec.routes, "disable_log_stats": True,
        "tensor_parallel_size": spec.parallel, "worker_extension_cls": RECEIVER,
        "hf_overrides": {"head_dtype": "float32"} if spec.wide else {},
    }
    if spec.keeps:
        common["async_scheduling"] = False  # a stream that stands still must have no token on its way
    if spec.gpu:
        return {**common, "gpu_memory_utilization": DEVICE_SHARE / spec.sets}
    # a prompt cut in two would have its random numbers drawn twice, and on a CPU vLLM cannot take the first back
    return {**common, "enforce_eager": True, "block_size": BLOCK, "kv_cache_memory_bytes": spec.cache_bytes,
            "enable_chunked_prefill": False, "max_num_batched_tokens": max(STEP_TOKENS, spec.context)}


def _take(live: _Live, output: Any, version: int, tokenizer: Any) -> str | None:
    """Notes the new tokens of a stream; why it ended, or None where it goes on."""
    new = output.outputs[0]
    for token, found in zip(new.token_ids, new.logprobs, strict=True):
        live.tokens.append(token)
        live.logps.append(0.0 if live.greedy else found[token].logprob)
        live.versions.append(version)
        if live.stream.options.stop and _says(live, tokenizer):
            return "stop"
    return new.finish_reason if output.finished else None


def _says(live: _Live, tokenizer: Any) -> bool:
    """Whether the newest token completes a text that ends the response."""
    stop = live.stream.options.stop
    window = max(len(text.encode()) for text in stop) + 4
    tail = tokenizer.decode((live.stream.request.prefix.tokens[-window:] + tuple(live.tokens[-window:]))[-window:])
    return any(text in tail for text in stop)


def _trajectory(live: _Live, finish: str, tokenizer: Any, recorded: _Recorded) -> Trajectory:
    r, whole = live.stream.request, live.whole(recorded)
    ids = whole.tokens
    text = tokenizer.decode(ids[:-1] if ids and ids[-1] in tokenizer.eos else ids)
    return Trajectory(r.group, r.first, r.row, r.prompt, ids, whole.logps, whole.versions, finish, text,
                      candidates=whole.candidates, routes=whole.routes)
