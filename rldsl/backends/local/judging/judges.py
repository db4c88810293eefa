"""Models that score responses: language models whose replies are weighed, and classifiers with one number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rldsl.backends.local.data import Model
from rldsl.backends.local.training.forward import Critic, forward, values
from rldsl.backends.local.training.pieces import cut
from rldsl.runtime.protocols import Cutting
from rldsl.runtime.trajectory import SamplingOptions, Trajectory

PLAIN = SamplingOptions(1.0, 1)
LOGP = "logp_current"
Said = list[float | None]


@dataclass(frozen=True)
class Classifier:
    """A trunk with one number per position, and the model that its texts are encoded for."""

    trunk: Critic
    model: Model


def replies(model: Model, asked: Sequence[tuple[str, str]], cutting: Cutting) -> Said:
    """The log-prob, at temperature 1, that the model's whole reply to a question is a text; None where the two are
    longer than its context."""
    rows = [row(i, model.encode(question), model.reply(text)) for i, (question, text) in enumerate(asked)]
    return _each(rows, model, cutting, lambda piece: forward(
        model.policy, piece, frozenset({LOGP}), PLAIN, grad=False, share_prompts=cutting.share_prompts)[LOGP])


def valued(classifier: Classifier, responses: Sequence[tuple[str, str]], cutting: Cutting) -> Said:
    """The classifier's number at the last token of each (prompt, response); None where they are longer than its
    context."""
    rows = [reading_end(i, classifier.model, *texts) for i, texts in enumerate(responses)]

    def measure(piece: list[Trajectory]) -> Tensor:
        read = values(classifier.trunk, piece, grad=False, share_prompts=cutting.share_prompts)
        last = torch.tensor([len(r.tokens) for r in piece], device=read.device).cumsum(0) - 1
        return torch.zeros_like(read).index_put((last,), read[last])

    return _each(rows, classifier.model, cutting, measure)


def row(index: int, prompt: tuple[int, ...], tokens: tuple[int, ...]) -> Trajectory:
    """A text to be read, as a response that nobody sampled."""
    return Trajectory(index, 0, index, prompt, tokens, (0.0,) * len(tokens), (0,) * len(tokens), "stop", "")


def reading_end(index: int, model: Model, prompt: str, response: str) -> Trajectory:
    """The texts with one token more: a value is read before a token, so the last one before it is that of the end."""
    return row(index, model.encode(prompt), (*model.reply(response), 0))


def _each(rows: Sequence[Trajectory], model: Model, cutting: Cutting, measure) -> Said:
    """The sum over each row's tokens of what `measure` gives of a piece, flat."""
    context = model.policy.architecture.context
    short = [i for i, r in enumerate(rows) if len(r.prompt) + len(r.tokens) <= context]
    out: Said = [None] * len(rows)
    for piece in cut([rows[i] for i in short], cutting):
        mine = [rows[short[k]] for k in piece]
        parts = measure(mine).double().split([len(r.tokens) for r in mine])
        for k, part in zip(piece, parts, strict=True):
            out[short[k]] = float(part.sum())
    return out


def train_classifier(classifier: Classifier, pairs: Sequence[tuple[str, str, str]], steps: int) -> float:
    """Trains on (prompt, better response, other response) with −log σ(difference), Bradley–Terry; the last loss in
    nats.

    Pairs are taken in order, round and round, so that the result depends on nothing else.
    """
    optimizer = torch.optim.AdamW(classifier.trunk.parameters(), lr=LR, weight_decay=0.0)
    loss = torch.zeros(())
    for step in range(steps):
        chosen = [pairs[i % len(pairs)] for i in range(step * ROWS, (step + 1) * ROWS)]
        rows = [reading_end(i, classifier.model, p, text) for i, (p, a, b) in enumerate(chosen) for text in (a, b)]
        read = values(classifier.trunk, rows, grad=True)
        last = torch.tensor([len(r.tokens) for r in rows], device=read.device).cumsum(0) - 1
        better, other = read[last].view(-1, 2).unbind(1)
        loss = -nn.functional.logsigmoid(better - other).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(classifier.trunk.parameters(), 1.0)
        optimizer.step()
    classifier.trunk.zero_grad(set_to_none=True)
    return float(loss.detach())


ROWS, LR = 64, 2e-3
"""Pairs per step and learning rate of AdamW."""
