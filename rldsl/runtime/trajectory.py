"""What the sampler hands to everything after it: token ids, log-probs and versions, recorded when sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rldsl.diagnostics import Diagnostic, RecipeError


@dataclass(frozen=True)
class SamplingOptions:
    """The sampling part of the policy: applied alike to every log-prob. `None` means off."""

    temperature: float
    max_tokens: int
    top_p: float | None = None
    top_k: int | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prefix:
    """The first tokens of a response that exist already: from before a pause, or taken from another response.

    Per token and of equal length, with the log-prob, the weight version and, where they are recorded, the candidates
    of when it was sampled. `routes` are, where recorded, the experts of the prompt's tokens and then of these, as far
    as they had been computed.
    """

    tokens: tuple[int, ...] = ()
    logps: tuple[float, ...] = ()
    versions: tuple[int, ...] = ()
    candidates: tuple[tuple[int, ...], ...] = ()
    routes: Sequence[Sequence[Sequence[int]]] = ()


@dataclass(frozen=True)
class Request:
    """One prompt to be answered `siblings` times, by the siblings `first`, `first + 1`, …; each answer begins with
    `prefix`, and only what follows it is sampled. `group` is minted by the sampling stage and carried to the end."""

    group: int
    row: int
    prompt: tuple[int, ...]
    siblings: int
    first: int = 0
    prefix: Prefix = Prefix()


@dataclass(frozen=True)
class Trajectory:
    """One response. `tokens`, `logps` and `versions` are per action token and of equal length.

    `logps` are natural-log probabilities of the distribution really sampled (temperature and truncation
    applied). `finish` says why it ended: "stop" (end-of-sequence or stop text), "length". A sampled
    end-of-sequence token is the last of `tokens` and is trained. `text` is the decoded response without it.
    `verdict` is what a data set says of a response that it holds: 1 for a good one, 0 for a bad one; nobody sampled
    such a response, and its `logps` mean nothing. `candidates` are, per token, the ids that truncation left to choose
    from; empty where nobody asked for them. `routes` are the experts that were chosen, by computed token (prompt and
    response without its last one), layer and place; empty where nobody asked for them.
    """

    group: int
    sibling: int
    row: int
    prompt: tuple[int, ...]
    tokens: tuple[int, ...]
    logps: tuple[float, ...]
    versions: tuple[int, ...]
    finish: str
    text: str
    verdict: int | None = None
    candidates: tuple[tuple[int, ...], ...] = ()
    routes: Sequence[Sequence[Sequence[int]]] = ()

    def __post_init__(self) -> None:
        if not len(self.tokens) == len(self.logps) == len(self.versions):
            raise ValueError(f"trajectory {self.group}.{self.sibling}: {len(self.tokens)} tokens, "
                             f"{len(self.logps)} log-probs, {len(self.versions)} versions")

    @property
    def key(self) -> tuple[int, int]:
        """Its group and sibling: one response of a run."""
        return self.group, self.sibling

    @property
    def truncated(self) -> bool:
        """Whether a limit ended it."""
        return self.finish == "length"


def require_room(requests: Sequence[Request], options: SamplingOptions, context: int) -> None:
    """RecipeError RL330 where a prompt and `max_tokens` are more tokens than a model's context has."""
    longest = max((len(r.prompt) for r in requests), default=0)
    if longest + options.max_tokens > context:
        raise RecipeError([Diagnostic(
            "RL330", f"A prompt of {longest} tokens and max_tokens {options.max_tokens} make "
            f"{longest + options.max_tokens}, more than the model's context of {context}.",
            why="Positions beyond the context were never trained.",
            fix="Lower sampling's max_tokens or model.max_prompt, or choose a model with a longer context.")])
