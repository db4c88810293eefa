"""Sampling: prompts prefilled once per group, the whole batch decoded together, finished rows dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from rldsl.backends.local.decoder.attention import attention, decode_attention
from rldsl.backends.local.decoder.model import Policy, Weights, attention_dtype, hidden_states
from rldsl.backends.local.decoder.ragged import rectangle
from rldsl.backends.local.decoder.rotary import rotation
from rldsl.backends.local.distribution import scaled
from rldsl.backends.local.draws import uniforms
from rldsl.runtime.trajectory import Request, SamplingOptions, Trajectory, require_room

from .cache import Cache
from .recomputed import Recomputed

DRAWN_STEPS = 64
"""Uniforms are hashed for this many steps at a time."""
CACHE_BYTES = 4 * 2**30
"""Requests are answered in waves whose keys and values stay below this at full length."""


@dataclass(frozen=True)
class _Draw:
    """How the next token is chosen."""

    options: SamplingOptions
    seed: int
    batch: int
    greedy: bool


@dataclass
class _Alive:
    """The rows still decoded. `slot` is their place in the record; `begun` counts the response tokens that were there
    before; `done` rows await the next compaction."""

    slot: Tensor
    group: Tensor
    sibling: Tensor
    begun: Tensor
    position: Tensor
    done: Tensor
    uniform: Tensor

    def keep(self, rows: Tensor) -> None:
        for name in ("slot", "group", "sibling", "begun", "position", "done", "uniform"):
            setattr(self, name, getattr(self, name).index_select(0, rows))


class _Record:
    """Sampled ids and log-probs by slot and step, how many of them count, and whether the slot ended by itself.
    `before` holds what each slot's response began with."""

    def __init__(self, before: Sequence[tuple[int, ...]], device: torch.device):
        slots = len(before)
        self.before = before
        self.candidates: list[list[tuple[int, ...]]] = [[] for _ in before]
        self.tokens = torch.zeros(slots, DRAWN_STEPS, dtype=torch.int64, device=device)
        self.logps = torch.zeros(slots, DRAWN_STEPS, device=device)
        self.lengths = torch.zeros(slots, dtype=torch.int64, device=device)
        self.stopped = torch.zeros(slots, dtype=torch.bool, device=device)

    def write(self, slot: Tensor, step: int, token: Tensor, logp: Tensor) -> None:
        if step == self.tokens.shape[1]:
            self.tokens = torch.cat((self.tokens, torch.zeros_like(self.tokens)), dim=1)
            self.logps = torch.cat((self.logps, torch.zeros_like(self.logps)), dim=1)
        self.tokens[slot, step] = token
        self.logps[slot, step] = logp

    def write_candidates(self, slot: Tensor, kept: Tensor) -> None:
        """Which ids [rows, V] the token of each row was chosen from; of a row that is done they count for nothing."""
        ids = kept.nonzero()[:, 1].split(kept.sum(1).tolist())
        for place, row in zip(slot.tolist(), ids, strict=True):
            self.candidates[place].append(tuple(row.tolist()))


def sample(policy: Policy, requests: Sequence[Request], options: SamplingOptions, *, seed: int, batch: int,
           version: int, greedy: bool = False) -> list[Trajectory]:
    """Answer every request `siblings` times; trajectories in the order of requests, then siblings.

    A request's prefix is computed with its prompt, and stands at the beginning of each of its trajectories as it came.

    Log-probs are of the distribution sampled from (temperature and truncation applied), 0 under `greedy` or
    temperature 0, where one token has all the probability. What is drawn depends on (seed, batch, group,
    sibling, step) only. A response ends with a sampled end-of-sequence token ("stop"), with a text of
    `options.stop` in what it wrote ("stop"; the text keeps it), or at `max_tokens` ("length").
    RecipeError RL330 where prompt and response would not fit the context.
    """
    require_context(policy, requests, options)
    draw = _Draw(options, seed, batch, greedy or options.temperature == 0)
    found: list[Trajectory] = []
    with torch.inference_mode():
        weights = policy.weights()
        for wave in _waves(policy, requests, options.max_tokens):
            record = _decode(policy, weights, wave, draw)
            found += _trajectories(policy, wave, record, version)
    return found


def require_context(policy: Policy, requests: Sequence[Request], options: SamplingOptions) -> None:
    """RecipeError RL330 where prompt and response would not fit the policy's context."""
    require_room(requests, options, policy.architecture.context)


def _waves(policy: Policy, requests: Sequence[Request], max_tokens: int) -> list[list[Request]]:
    a = policy.architecture
    itemsize = attention_dtype(policy.device, policy.compute).itemsize
    column = 2 * a.layers * a.kv_heads * a.head_width * itemsize
    waves: list[list[Request]] = []
    used = CACHE_BYTES
    for request in requests:
        cost = request.siblings * (len(request.prompt) + max_tokens) * column
        if used + cost > CACHE_BYTES and (used or not waves):
            waves.append([])
            used = 0
        waves[-1].append(request)
        used += cost
    return waves


def _prefill(policy: Policy, weights: Weights, requests: Sequence[Request]
             ) -> tuple[Tensor, list[tuple[Tensor, Tensor]], Tensor | None]:
    """State [G, D] after each prompt and prefix, keys and values per layer [G, P, K, C], and which columns are real."""
    device = policy.device
    given = [request.prompt + request.prefix.tokens for request in requests]
    lengths = torch.tensor([len(tokens) for tokens in given], device=device)
    shape = rectangle(lengths.tolist(), device)
    ids = torch.tensor([token for tokens in given for token in tokens], device=device)
    positions = torch.cat([torch.arange(len(tokens)) for tokens in given]).to(device)
    layers: list[tuple[Tensor, Tensor]] = []

    def attend(_: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        layers.append((shape.spread(k), shape.spread(v)))
        return shape.collect(attention(shape.spread(q), *layers[-1], causal=True)).flatten(1)

    states = hidden_states(policy.architecture, weights, ids, rotation(positions, policy.inverse), attend)
    seen = None if shape.pad is None else torch.arange(shape.width, device=device) < lengths.unsqueeze(1)
    return states.index_select(0, lengths.cumsum(0) - 1), layers, seen


class _Cached:
    """The next logits from the keys and values of everything before; as `Recomputed`, which keeps none."""

    def __init__(self, policy: Policy, weights: Weights, requests: Sequence[Request], owner: Tensor, steps: int):
        self._policy, self._weights, self._owner = policy, weights, owner
        self._states, layers, seen = _prefill(policy, weights, requests)
        self._cache = Cache(layers, owner, seen, steps)
        columns = torch.arange(self._cache.length + steps, device=policy.device)
        self._table = rotation(columns, policy.inverse)

    def begin(self) -> Tensor:
        return (self._states @ self._weights.head.t()).index_select(0, self._owner)

    def step(self, token: Tensor, position: Tensor) -> Tensor:
        factors = self._table.index_select(0, position)
        return _step(self._policy, self._weights, self._cache, token, factors) @ self._weights.head.t()

    def keep(self, rows: Tensor) -> None:
        self._cache.keep(rows)


def _decode(policy: Policy, weights: Weights, requests: Sequence[Request], draw: _Draw) -> _Record:
    device, steps = policy.device, draw.options.max_tokens - min(len(r.prefix.tokens) for r in requests)
    alive, owner = _start(requests, device)
    record = _Record([r.prefix.tokens for r in requests for _ in range(r.siblings)], device)
    source = Recomputed(policy, weights, requests) if policy.numerics.equal_bits else (
        _Cached(policy, weights, requests, owner, steps))
    logits = source.begin()
    for step in range(steps):
        token, logp, kept = _choose(logits, alive, draw, step)
        record.write(alive.slot, step, token, logp)
        if policy.numerics.candidates:
            record.write_candidates(alive.slot, kept)
        token = _drop_finished(policy, alive, source, record, token, step, draw)
        if token is None:
            break
        logits = source.step(token, alive.position)
        alive.position += 1
    return record


def _start(requests: Sequence[Request], device: torch.device) -> tuple[_Alive, Tensor]:
    rows = [(index, r.group, r.first + sibling, len(r.prefix.tokens), len(r.prompt) + len(r.prefix.tokens))
            for index, r in enumerate(requests) for sibling in range(r.siblings)]
    columns = torch.tensor(rows, dtype=torch.int64, device=device).reshape(-1, 5)
    owner, group, sibling, begun, position = columns.unbind(1)
    slot = torch.arange(len(rows), device=device)
    return _Alive(slot, group, sibling, begun, position.clone(), torch.zeros_like(slot, dtype=torch.bool),
                  torch.empty(len(rows), 0, device=device)), owner


def _step(policy: Policy, weights: Weights, cache: Cache, token: Tensor, factors: Tensor) -> Tensor:
    cache.start_step()

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return decode_attention(q, *cache.append(layer, k, v))

    return hidden_states(policy.architecture, weights, token, factors, attend)


def _choose(logits: Tensor, alive: _Alive, draw: _Draw, step: int) -> tuple[Tensor, Tensor, Tensor]:
    """The next token of every row, its log-prob, and which ids [rows, V] it was chosen from; by inverting the
    cumulative distribution at one uniform."""
    if draw.greedy:
        token = logits.argmax(dim=-1)
        return token, torch.zeros_like(token, dtype=torch.float32), F.one_hot(token, logits.shape[-1])
    if step % DRAWN_STEPS == 0:
        ahead = range(step, min(step + DRAWN_STEPS, draw.options.max_tokens))
        alive.uniform = uniforms(draw.seed, draw.batch, alive.group, alive.sibling, alive.begun, ahead)
    logps = scaled(logits, draw.options).log_softmax(dim=-1)
    cumulative = logps.exp().cumsum(dim=-1, dtype=torch.float64)
    point = alive.uniform[:, step % DRAWN_STEPS].unsqueeze(1) * cumulative[:, -1:]
    token = torch.searchsorted(cumulative, point, right=True).clamp_(max=logits.shape[-1] - 1)
    return token.squeeze(1), logps.gather(1, token).squeeze(1), logps > -torch.inf


def _drop_finished(policy: Policy, alive: _Alive, source: _Cached | Recomputed, record: _Record, token: Tensor,
                   step: int, draw: _Draw) -> Tensor | None:
    """Note who ended at `step`; compact once an eighth has. The tokens to feed next, or None when all ended."""
    stopped = _ends(policy, alive, record, token, step, draw.options.stop) & ~alive.done
    ended = stopped | (alive.begun + step + 1 == draw.options.max_tokens) & ~alive.done
    if not ended.any():
        return token
    record.lengths[alive.slot[ended]] = step + 1
    record.stopped[alive.slot[stopped]] = True
    alive.done |= ended
    going = (~alive.done).nonzero().flatten()
    if not len(going):
        return None
    if len(going) > 0.875 * len(token):
        return token
    alive.keep(going)
    source.keep(going)
    return token.index_select(0, going)


def _ends(policy: Policy, alive: _Alive, record: _Record, token: Tensor, step: int,
          stop: tuple[str, ...]) -> Tensor:
    ended = torch.zeros_like(alive.done)
    for eos in policy.tokenizer.eos:
        ended |= token == eos
    if stop:
        window = max(len(text.encode()) for text in stop) + 4
        recent = record.tokens[alive.slot, max(0, step + 1 - window):step + 1].tolist()
        before = [record.before[slot] for slot in alive.slot.tolist()]
        texts = [policy.tokenizer.decode([*old[-window:], *new][-window:])
                 for old, new in zip(before, recent, strict=True)]
        ended |= torch.tensor([any(text in tail for text in stop) for tail in texts], device=ended.device)
    return ended


def _trajectories(policy: Policy, requests: Sequence[Request], record: _Record,
                  version: int) -> list[Trajectory]:
    lengths, stopped = record.lengths.tolist(), record.stopped.tolist()
    written = torch.arange(record.tokens.shape[1], device=policy.device) < record.lengths.unsqueeze(1)
    tokens, logps = record.tokens[written].tolist(), record.logps[written].tolist()
    decode, eos = policy.tokenizer.decode, policy.tokenizer.eos
    answered = [(r, r.first + sibling) for r in requests for sibling in range(r.siblings)]
    found, end = [], 0
    for (request, sibling), length, ended, chosen in zip(answered, lengths, stopped, record.candidates, strict=True):
        start, end = end, end + length
        old, ids = request.prefix, request.prefix.tokens + tuple(tokens[start:end])
        found.append(Trajectory(
            request.group, sibling, request.row, request.prompt, ids, old.logps + tuple(logps[start:end]),
            old.versions + (version,) * length, "stop" if ended else "length",
            decode(ids[:-1] if ids[-1] in eos else ids),
            candidates=old.candidates + tuple(chosen[:length])))
    return found
