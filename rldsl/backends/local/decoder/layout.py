"""How rows of different length lie in one flat token axis: distinct prompts first, each once, then responses.

The last token of a response predicts nothing that is trained, so it is not an input; the prompt's last
position predicts the first action token.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rldsl.runtime.trajectory import Trajectory

from .ragged import Rectangle, rectangle


@dataclass(frozen=True)
class Layout:
    """One micro-batch as flat tensors.

    `ids`, `positions` [N]; the first `prompts.size` belong to prompts. `owner` [R] is each response's prompt.
    `read` is, for every action token in the order of the rows, the flat position whose state predicts it;
    `targets` are these action tokens; `candidates` [tokens, most], filled up with the target, are what each was chosen
    from, where that is recorded. `mask` (bool, True = may look) is [R or 1, 1, T, P + T].
    """

    ids: Tensor
    positions: Tensor
    prompts: Rectangle
    responses: Rectangle
    owner: Tensor
    siblings: int | None
    mask: Tensor
    read: Tensor
    targets: Tensor
    candidates: Tensor | None


def micro_batches(rows: Sequence[Trajectory], micro_tokens: int | None) -> list[list[int]]:
    """Indices of `rows` in pieces of at most `micro_tokens` computed tokens, of about equal cost.

    Rows with one prompt stay together unless they alone exceed the limit; a single row may exceed it.
    `None` means one piece. Every index appears exactly once.
    """
    if micro_tokens is None:
        return [list(range(len(rows)))] if rows else []
    clusters = [piece for cluster in _clusters(rows) for piece in _cut(rows, cluster, micro_tokens)]
    clusters.sort(key=lambda cluster: -cluster[0])
    bins = max(1, -(-sum(cost for cost, _ in clusters) // micro_tokens))
    while (packed := _pack(clusters, bins, micro_tokens)) is None:
        bins += 1
    return [sorted(piece) for piece in packed if piece]


def _clusters(rows: Sequence[Trajectory]) -> list[list[int]]:
    clusters: dict[Hashable, list[int]] = {}
    for index, row in enumerate(rows):
        clusters.setdefault((row.group, row.prompt), []).append(index)
    return list(clusters.values())


def _cut(rows: Sequence[Trajectory], cluster: list[int], limit: int) -> list[tuple[int, list[int]]]:
    pieces: list[tuple[int, list[int]]] = []
    cost, piece = len(rows[cluster[0]].prompt), []
    for index in cluster:
        inputs = _inputs(rows[index])
        if piece and cost + inputs > limit:
            pieces.append((cost, piece))
            cost, piece = len(rows[index].prompt), []
        cost, piece = cost + inputs, [*piece, index]
    return [*pieces, (cost, piece)]


def _pack(clusters: list[tuple[int, list[int]]], bins: int, limit: int) -> list[list[int]] | None:
    """Largest first into the emptiest bin; None where that overfills a bin that several clusters share."""
    loads, packed = [0] * bins, [[] for _ in range(bins)]
    for cost, piece in clusters:
        emptiest = min(range(bins), key=loads.__getitem__)
        if packed[emptiest] and loads[emptiest] + cost > limit:
            return None
        loads[emptiest] += cost
        packed[emptiest] += piece
    return packed


def _inputs(row: Trajectory) -> int:
    return max(len(row.tokens) - 1, 0)


def lay_out(rows: Sequence[Trajectory], device: torch.device, share: bool = True) -> Layout:
    """The layout of one micro-batch. Without `share` every row brings its own copy of its prompt.

    Every row needs a prompt of at least one token (ValueError).
    """
    prompts, owners = _prompts(rows, share)
    if () in prompts:
        raise ValueError("a row without prompt tokens has no position that predicts its first token")
    order = sorted(range(len(rows)), key=owners.__getitem__)
    prompt_shape = rectangle([len(prompt) for prompt in prompts], device)
    response_shape = rectangle([_inputs(rows[index]) for index in order], device)
    owner = [owners[index] for index in order]
    ids = [token for prompt in prompts for token in prompt]
    positions = [p for prompt in prompts for p in range(len(prompt))]
    for index in order:
        inputs, first = _inputs(rows[index]), len(rows[index].prompt)
        ids.extend(rows[index].tokens[:inputs])
        positions.extend(range(first, first + inputs))
    read, targets = _readout(rows, order, prompts, owners), [token for row in rows for token in row.tokens]
    flat = (torch.tensor(x, dtype=torch.int64, device=device) for x in (ids, positions, owner, read, targets))
    ids, positions, owned, read, targets = flat
    return Layout(ids, positions, prompt_shape, response_shape, owned, _siblings(owner),
                  _mask(prompt_shape, response_shape, owner, device), read, targets, candidates(rows, device))


def candidates(rows: Sequence[Trajectory], device: torch.device) -> Tensor | None:
    """What each action token was chosen from, [tokens, most], filled up with the token; None where nothing is recorded.
    """
    if not any(row.candidates for row in rows):
        return None
    sets = [(token, ids) for row in rows for token, ids in zip(row.tokens, row.candidates, strict=True)]
    most = max(len(ids) for _, ids in sets)
    return torch.tensor([[*ids, *[token] * (most - len(ids))] for token, ids in sets], device=device)


def _prompts(rows: Sequence[Trajectory], share: bool) -> tuple[list[tuple[int, ...]], list[int]]:
    """The prompts to compute, and each row's among them."""
    if not share:
        return [row.prompt for row in rows], list(range(len(rows)))
    found: dict[tuple[int, ...], int] = {}
    owners = [found.setdefault(row.prompt, len(found)) for row in rows]
    return list(found), owners


def _siblings(owner: list[int]) -> int | None:
    """Responses per prompt where all prompts have equally many, so that an expanded view can serve."""
    prompts = owner[-1] + 1
    siblings, rest = divmod(len(owner), prompts)
    regular = not rest and owner == [index // siblings for index in range(len(owner))]
    return siblings if regular else None


def _readout(rows: Sequence[Trajectory], order: list[int], prompts: list[tuple[int, ...]],
             owners: list[int]) -> list[int]:
    ends, total = [], 0
    for prompt in prompts:
        total += len(prompt)
        ends.append(total - 1)
    starts = [0] * len(rows)
    for index in order:
        starts[index] = total
        total += _inputs(rows[index])
    read: list[int] = []
    for index, row in enumerate(rows):
        if row.tokens:
            read.append(ends[owners[index]])
            read.extend(range(starts[index], starts[index] + _inputs(row)))
    return read


def _mask(prompts: Rectangle, responses: Rectangle, owner: list[int], device: torch.device) -> Tensor:
    own = torch.ones(responses.width, responses.width, dtype=torch.bool, device=device).tril()
    if prompts.pad is None:
        seen = torch.ones(1, 1, prompts.width, dtype=torch.bool, device=device)
    else:
        lengths = torch.tensor(prompts.lengths, device=device)[owner]
        seen = (torch.arange(prompts.width, device=device) < lengths.unsqueeze(1)).unsqueeze(1)
    seen = seen.expand(-1, responses.width, -1)
    return torch.cat((seen, own.expand(seen.shape[0], -1, -1)), dim=2).unsqueeze(1)
