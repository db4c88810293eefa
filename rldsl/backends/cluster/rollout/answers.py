"""What an engine sends back, held against what it was asked: nothing else of it is believed."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rldsl.diagnostics import Diagnostic
from rldsl.runtime.errors import RunError
from rldsl.runtime.trajectory import Trajectory

from .streams import Stream

FINISHES = ("stop", "length")
ABOVE_ONE = 1e-4
"""How far rounding may lift a log-prob above 0."""


def require_sound(engine: str, asked: Mapping[int, Stream], stream: int, found: Trajectory, vocabulary: int, *,
                  candidates: bool = False) -> None:
    """RunError RL601 for a log-prob that is no number, RL617 for anything else that cannot be an answer."""
    wanted = asked.get(stream)
    if wanted is None:
        raise _unsound(engine, f"an answer to the stream {stream}, which it was not given")
    r = wanted.request
    place = f"response {r.group}.{r.first}"
    if (found.group, found.sibling, found.row, found.prompt) != (r.group, r.first, r.row, r.prompt):
        raise _unsound(engine, f"{place} under another name or prompt")
    if not all(math.isfinite(x) for x in found.logps):
        raise RunError(Diagnostic(
            "RL601", f"{engine} gave {place} a log-prob that is not finite (stage: sample)",
            why="its token was drawn from nothing; no optimizer step was taken",
            fix="the weights that sampled hold numbers that are not finite: start from a sound model"))
    if wrong := _wrong(wanted, found, vocabulary) or _foreign(wanted, found, vocabulary, candidates):
        raise _unsound(engine, f"{place} with {wrong}")


def _wrong(wanted: Stream, found: Trajectory, vocabulary: int) -> str:
    """What cannot be in a finished response; "" where nothing is wrong."""
    begun, most = wanted.request.prefix, wanted.options.max_tokens
    foreign = next((t for t in found.tokens if not 0 <= t < vocabulary), None)
    if foreign is not None:
        return f"the token {foreign}, where the vocabulary has {vocabulary}"
    if max(found.logps, default=0.0) > ABOVE_ONE:
        return f"the log-prob {max(found.logps):g}, a probability above 1"
    n = len(begun.tokens)
    given = begun.tokens, begun.logps, begun.versions, begun.candidates
    known = found.candidates[:len(begun.candidates)]
    if (found.tokens[:n], found.logps[:n], found.versions[:n], known) != given:
        return "another beginning than it was given"
    if found.finish not in FINISHES:
        return f"the reason {found.finish!r} for its end"
    if not n < len(found.tokens) <= most or (found.finish == "length" and len(found.tokens) != most):
        return f"{len(found.tokens)} tokens, ended by {found.finish}, where {most} are the limit"
    return ""


def _foreign(asked: Stream, found: Trajectory, vocabulary: int, wanted: bool) -> str:
    """What cannot be in recorded candidates; "" where nothing is wrong. What another model began with has none."""
    begun = asked.request.prefix
    without = len(begun.tokens) - len(begun.candidates) if wanted else len(found.tokens)
    if len(found.candidates) != len(found.tokens) - without:
        return f"candidates for {len(found.candidates)} of its {len(found.tokens)} tokens"
    for token, ids in zip(found.tokens[without:], found.candidates, strict=True):
        if token not in ids or not 0 <= min(ids) <= max(ids) < vocabulary:
            return f"the token {token} and {len(ids)} candidates that it cannot have been chosen from"
    return ""


def _unsound(engine: str, what: str) -> RunError:
    return RunError(Diagnostic("RL617", f"{engine} answered {what}",
                               why="training on it would be training on noise",
                               fix="this is a defect of the engine; report it with the journal"))
